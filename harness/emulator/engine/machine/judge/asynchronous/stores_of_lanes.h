// Equal stores of a warp's lanes are one store.
//
// ptxas compiles a bulk copy to global memory into one instruction of the warp, without choosing a lane, so all
// lanes may issue it, as in CUTLASS's epilogues. (A copy to shared memory and a reduction are issued once per
// lane: those count.)

#pragma once

#include <set>
#include <utility>
#include <vector>

#include "machine.h"

namespace machine {

class StoresOfLanes {
   public:
    // Whether another lane of the warp has issued the same store, at the same execution of the instruction.
    bool repeated(int warp, std::vector<i64> operands) {
        return !issued_.emplace(warp, std::move(operands)).second;
    }

   private:
    std::set<std::pair<int, std::vector<i64>>> issued_;
};

}  // namespace machine
