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

#include <algorithm>
#include <vector>

#include "tensor_box.h"

namespace machine {

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
        std::sort(inside_.begin(), inside_.end());
        inside_.erase(std::unique(inside_.begin(), inside_.end()), inside_.end());
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
    std::vector<i64> inside_;  // the current line's sectors, some of them several times

    void within(i64 from, i64 to) {
        for (i64 s = from / SECTOR; s <= (to - 1) / SECTOR; s++) inside_.push_back(s);
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

// The rows of a box that begins at a place in shared memory.
inline std::vector<Run> runs_of(const TensorMap& map, const std::vector<BoxRow>& rows, i64 place) {
    std::vector<Run> out;
    for (const BoxRow& row : rows) {
        out.push_back({place, map.row_bytes(), static_cast<i64>(map.address) + row.from, row.low, row.high});
        place += map.row_pitch();
    }
    return out;
}

struct BulkCopy {
    bool loads = false;
    int blocks = 0;  // how many receive a multicast
    bool is_sent = false, stays = false, reduces = false;  // from shared memory to shared memory, and then: of the same block, by a reduction
};

struct BulkCost {
    i64 sectors, requests;
    bool is_uncertain;
};

inline BulkCost cost_of_bulk(const std::vector<Run>& runs, const BulkCopy& copy) {
    BulkSectors cost(copy.loads, copy.blocks);
    bool is_inside = true;
    for (const Run& run : runs) cost.add(run), is_inside &= run.low <= 0 && run.high >= run.size;
    cost.finish();
    if (copy.is_sent && runs[0].size == 32) return {2, 0, copy.stays || copy.reduces};
    return {cost.sectors, cost.requests, copy.blocks && !is_inside};
}

// Adds a copy to the counts at an instruction.
template <class Counts>
void count_bulk(Counts& counts, i32 at, const std::vector<Run>& runs, const BulkCopy& copy) {
    const BulkCost cost = cost_of_bulk(runs, copy);
    counts.bulk_copies[at]++;
    counts.bulk_sectors[at] += cost.sectors;
    counts.multicast_requests[at] += cost.requests;
    counts.bulk_uncertain[at] += cost.is_uncertain;
}

}  // namespace machine
