// Which words of a chunk's memory nothing has written yet, and which hold what nothing had written.

#pragma once

#include <unordered_map>

#include "uninitialised.h"

namespace machine {

class Unwritten {
   public:
    // What a request has found unwritten: for each word of each touch, none where all are written.
    using Origins = std::vector<Origin>;

    Unwritten(const Launch& launch, const Judged& judged, const Geometry& geometry,
              Uninitialised& uninitialised);

    // New blocks.
    void start();

    size_t shared_words() const { return shared_words_; }  // of a block

    // The words that the touches of a request begin at, in the memory that it goes to.
    std::vector<i64> cells_of(const Request& request) const;

    bool all_written(const Request& request, const std::vector<i64>& cells) const;
    Origins read(const Request& request, const std::vector<i64>& cells);
    Origins read(const Request& request, const Buffer& buffer);

    // What a load or an atomic has read: where it is unwritten, its result is.
    void note(const Op& op, const Request& request, const Origins& origins);

    // Something writes to memory of the block's own; a store puts there what its registers hold.
    void write(const Request& request, const std::vector<i64>& cells);
    void store(const Op& op, const Request& request, const std::vector<i64>& cells);

    // To store it to global memory is to use it.
    void use_stored(const Op& op, const Request& request);

   private:
    struct Memory {  // of the block's own, or of the thread's
        Id* cells;
        int grain;
    };

    Memory memory_of(const Request& request) const;
    u64 unwritten_bits(const Id* first, int cells, int cell_bytes) const;
    template <class Bits, class Known>
    Origins read_words(const Request& request, Bits unwritten, Known known);

    const Launch& launch_;
    const Judged& judged_;
    const Geometry& geometry_;
    Uninitialised& uninitialised_;
    size_t shared_words_, local_words_;
    Held<Id> shared_cells_, local_cells_;  // of words: WRITTEN, or what was stored there, or 0
    std::unordered_map<const Id*, u64> in_part_;  // of words that hold what is unwritten in part: which bits
};

}  // namespace machine
