// Which words of a chunk's memory are uninitialised, and which hold values read from such words.

#pragma once

#include <unordered_map>

#include "uninitialised.h"

namespace machine {

class Unwritten {
   public:
    // The uninitialised words that a request found, for each word of each access; empty if all
    // words are initialised.
    using Origins = std::vector<Origin>;

    Unwritten(const Launch& launch, const Judged& judged, const Geometry& geometry,
              Uninitialised& uninitialised);

    // New blocks begin.
    void start();

    size_t shared_words() const { return shared_words_; }  // of a block

    // The first word of each access of a request, in the memory that it accesses.
    std::vector<i64> cells_of(const Request& request) const;

    bool all_written(const Request& request, const std::vector<i64>& cells) const;
    Origins read(const Request& request, const std::vector<i64>& cells);
    Origins read(const Request& request, const Buffer& buffer);

    // Notes what a load or an atomic has read: its result is uninitialised where the memory was.
    void note(const Op& op, const Request& request, const Origins& origins);

    // Writes to the block's own memory. A store writes the contents of its registers.
    void write(const Request& request, const std::vector<i64>& cells);
    void store(const Op& op, const Request& request, const std::vector<i64>& cells);

    // Storing an uninitialised value to global memory counts as using it.
    void use_stored(const Op& op, const Request& request);

   private:
    struct Memory {  // the block's own or the thread's
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
    Held<Id> shared_cells_, local_cells_;  // by word: WRITTEN, the id of what was stored there, or 0
    std::unordered_map<const Id*, u64> in_part_;  // the unwritten bits of words written in part
};

}  // namespace machine
