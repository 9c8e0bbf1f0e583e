// The sectors that a copy by the bulk copy unit moves, as the counters of an H100 have them
// (reports/h100/asynchronous_counters.csv.gz). The unit takes the lines of 128 bytes in shared memory one by one, and
// each line costs the distinct sectors that it comes from or goes to. Bytes that are loaded from beyond a tensor's
// edge cost what they would cost inside it if some of their row's part in the line is inside, and otherwise as many
// sectors as they fill. Those beyond the edge are not stored.
//
// A multicast asks for each line of global memory apart and receives at least two sectors for it, in each block. What
// a row's part in a line has beyond the edge is a request of its own, for which each block receives as many sectors as
// the bytes fill, and at least three (reports/h100/further_counters.csv.gz).
//
// Some copies are uncertain: multicasts partly beyond the edge, because no reading has an edge within a line of global
// memory and nothing explains the three sectors; and, of 32 bytes sent to shared memory, for which a copy to another
// block takes two sectors, reductions and those to the block itself, because none was read.
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
            const i64 low = std::max(from, run.low), high = std::min(next, run.high);
            if (low >= high)
                beyond(next - from);
            else if (blocks_)
                beyond(low - from), within(run.at + low, run.at + high), beyond(next - high);
            else
                within(run.at + from, run.at + next);
            from = next;
        }
    }

    void finish() {
        if (blocks_) {
            i64 of_line = 0, line = -1;
            for (const i64 sector : inside_) {
                if (sector * SECTOR / LINE != line) ask(of_line, 2), of_line = 0, line = sector * SECTOR / LINE;
                of_line++;
            }
            ask(of_line, 2);
        } else {
            sectors += static_cast<i64>(inside_.size());
        }
        inside_.clear();
    }

    i64 sectors = 0, requests = 0;

private:
    static constexpr i64 LINE = 128, SECTOR = 32;
    const bool loads_;
    const int blocks_;  // 0 if the copy is not a multicast
    i64 line_ = -1;
    std::set<i64> inside_;

    void within(i64 from, i64 to) {
        for (i64 s = from / SECTOR; s <= (to - 1) / SECTOR; s++) inside_.insert(s);
    }

    void beyond(i64 bytes) {
        const i64 filled = (bytes + SECTOR - 1) / SECTOR;
        if (blocks_)
            ask(filled, 3);
        else
            sectors += filled;
    }

    // Counts a request of a multicast.
    void ask(i64 count, i64 least) {
        if (count) requests++, sectors += std::max(least, count) * blocks_;
    }
};

// blocks: how many receive a multicast.
inline void count_bulk(Context& c, const Instruction& n, const std::vector<Run>& runs, bool loads, int blocks) {
    BulkSectors cost(loads, n.flags & TO_MANY ? blocks : 0);
    bool is_inside = true;
    for (const Run& run : runs) cost.add(run), is_inside &= run.low <= 0 && run.high >= run.size;
    cost.finish();
    const bool sends_a_sector = n.flags & FROM_SHARED && n.flags & TO_SHARED && runs[0].size == 32;
    const bool stays = sends_a_sector && runs[0].at >> RANK_SHIFT == c.block->rank;
    c.counts.bulk_copies[c.at]++;
    c.counts.bulk_sectors[c.at] += sends_a_sector ? 2 : cost.sectors;
    c.counts.multicast_requests[c.at] += cost.requests;
    const bool was_sent = !stays && !(n.flags & REDUCTION);
    c.counts.bulk_uncertain[c.at] += (sends_a_sector && !was_sent) || (n.flags & TO_MANY && !is_inside);
}

}  // namespace sass
