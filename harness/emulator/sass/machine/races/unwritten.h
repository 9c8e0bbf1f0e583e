// Uses of memory that nothing has written, in machine code.
//
// Reading such memory is no fault; using what was read is: as an address, in a branch, in an atomic, or by storing
// something computed from it. Values are followed through moves, arithmetic and comparisons. Whatever selects among
// values, or uses only some of their bits, ends the pursuit: ptxas combines what the source keeps apart, and a value
// that another operand makes irrelevant is no fault. What is missed that way is found in PTX.
//
// Warps run one after another, so a word may be unwritten because the warp that writes it comes later. If nothing
// orders the two, that is a race, which is reported in place of this; uses are therefore reported at the end.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "memory/addresses.h"
#include "judge/ordering/races.h"

namespace sass {

class Unwritten {
   public:
    // How an instruction's results depend on its sources. Results have at most so many words.
    enum Way : u8 { FORGETS, MOVES, ADDS, COMPUTES, COMPARES, SHUFFLES, REDUCES, LOADS, STORES, UPDATES };
    struct Known {
        Way way;
        int words;
        bool all_predicates = false;  // may change any of them
    };

    explicit Unwritten(const Launch& launch);

    // Called before and after an instruction of a warp in which unwritten values are known.
    void before(const Context& c, const Instruction& n);
    void after(const Context& c, const Instruction& n);
    // Lanes branch, or leave, by their guards.
    void branch(const Context& c, const Instruction& n);
    void forget(Warp& warp);

    // A load from this space, or an atomic before it changes anything. `stamps`: those of the block's shared memory.
    void loaded(const Context& c, const Instruction& n, const Access& access, i32 space, const machine::Stamps* stamps);
    void updated(const Context& c, const Instruction& n, const Access& access, i32 space, const machine::Stamps* stamps);

    // The first use.
    std::optional<machine::Accusation> found;
    // The lane and its block, as an accusation names them.
    std::function<std::pair<int, i64>(const Context&, int)> who;

   private:
    struct Read {
        i32 site, memory, bytes;
        i64 address;
    };
    struct Row {  // of a register or a predicate
        u32 lanes = 0;  // whose value nothing has written, or is computed from such values
        u32 made = 0;   // those whose value is computed
        Read from[LANES];
    };
    struct OfWarp {
        std::unordered_map<i32, Row> rows;
        Row predicates[PREDICATES];
    };

    OfWarp& of(const Warp& warp) {
        std::unique_ptr<OfWarp>& held = warps_[&warp];
        if (!held) held = std::make_unique<OfWarp>();
        return *held;
    }
    const Row* row_of(const Context& c, const Source& s) {
        if (s.constant) return nullptr;
        const auto& rows = of(*c.warp).rows;
        const auto held = rows.find(s.row);
        return held == rows.end() || !held->second.lanes ? nullptr : &held->second;
    }
    u32 unset(const Context& c, const Access& access, i32 space, int at, int bytes, const machine::Stamps* stamps,
              Read* reads) const;
    void use(const Context& c, int lane, const Read& read);
    void use_row(const Context& c, const Row* row, u32 lanes);
    void join(const Row* row, u32 lanes, bool computes);
    void shuffle(const Context& c, const Instruction& n);
    void reduce(const Context& c, const Instruction& n);
    u32 decided(const Context& c, const Instruction& n) const;

    const Launch& launch_;
    bool follows_global_ = false;
    std::vector<Known> known_;
    std::unordered_map<const Warp*, std::unique_ptr<OfWarp>> warps_;
    Row result_;  // of the instruction that is being executed
};

// Executes an instruction, and follows values through it.
void followed(Context& c, const Instruction& n);

}  // namespace sass
