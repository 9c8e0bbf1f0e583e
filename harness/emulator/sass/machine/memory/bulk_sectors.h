// The sectors that a copy by the bulk copy unit moves, as the counters of an H100 have them
// (reports/h100/asynchronous_counters.csv.gz). The unit takes the lines of 128 bytes in shared memory one by one, and
// each line costs the distinct sectors that it comes from or goes to. Bytes that are loaded from beyond a tensor's
// edge cost what they would cost inside it if some of their row's part in the line is inside, and otherwise as many
// sectors as they fill. Those beyond the edge are not stored. A multicast asks for each line of global memory apart
// and receives at least two sectors for it, in each block.
//
// Two things are uncertain: the sectors of a multicast that is partly beyond the edge, and those of 32 bytes that are
// sent to a block's shared memory, for which the only reading is two sectors.
#pragma once

#include <set>
#include <vector>

#include "addresses.h"

namespace sass {

// A row of bytes in shared memory. `at`: where its first byte is in the other memory. [low, high): the bytes that
// are inside the tensor.
struct Run {
    i64 place, size, at, low, high;
};

class BulkSectors {
public:
    BulkSectors(bool loads, int blocks) : loads_(loads), blocks_(blocks) {}

    void add(const Run& run) {
        const i64 first = loads_ ? 0 : std::max<i64>(run.low, 0), end = loads_ ? run.size : run.high;
        for (i64 from = first; from < end;) {
            const i64 next = std::min(end, from + LINE - (run.place + from) % LINE);
            if (const i64 line = (run.place + from) / LINE; line != line_) finish(), line_ = line;
            if (std::max(from, run.low) < std::min(next, run.high))
                for (i64 s = (run.at + from) / SECTOR; s <= (run.at + next - 1) / SECTOR; s++) inside_.insert(s);
            else
                outside_ += (next - from + SECTOR - 1) / SECTOR;
            from = next;
        }
    }

    void finish() {
        if (blocks_) {
            i64 of_line = 0, line = -1;
            const auto end_line = [&] {
                if (of_line) requests++, sectors += std::max<i64>(2, of_line) * blocks_;
            };
            for (const i64 sector : inside_) {
                if (sector * SECTOR / LINE != line) end_line(), of_line = 0, line = sector * SECTOR / LINE;
                of_line++;
            }
            end_line();
            sectors += outside_ * blocks_;
        } else {
            sectors += static_cast<i64>(inside_.size()) + outside_;
        }
        inside_.clear();
        outside_ = 0;
    }

    i64 sectors = 0, requests = 0;

private:
    static constexpr i64 LINE = 128, SECTOR = 32;
    const bool loads_;
    const int blocks_;  // 0 if the copy is not a multicast
    i64 line_ = -1, outside_ = 0;
    std::set<i64> inside_;
};

// blocks: how many receive a multicast.
inline void count_bulk(Context& c, const Instruction& n, const std::vector<Run>& runs, bool loads, int blocks) {
    BulkSectors cost(loads, n.flags & TO_MANY ? blocks : 0);
    bool is_inside = true;
    for (const Run& run : runs) cost.add(run), is_inside &= run.low <= 0 && run.high >= run.size;
    cost.finish();
    const bool sends_a_sector = n.flags & FROM_SHARED && n.flags & TO_SHARED && runs[0].size == 32;
    c.counts.bulk_copies[c.at]++;
    c.counts.bulk_sectors[c.at] += sends_a_sector ? 2 : cost.sectors;
    c.counts.multicast_requests[c.at] += cost.requests;
    c.counts.bulk_uncertain[c.at] += sends_a_sector || (n.flags & TO_MANY && !is_inside);
}

}  // namespace sass
