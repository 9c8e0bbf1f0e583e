// What becomes of a value that was read where nothing had written: a fault once it is used.
//
// To read such a word is no fault by itself. A struct is copied with its padding, a merge sort reads
// one element past the end and then does not look at it, the compiler moves loads to where the source
// has none. To use it is one: as an address, in a branch, in an atomic, a vote or what is printed, or
// by storing it to global memory, but for words of which a part is written, and for what a lane copies
// beside what is written. In between it goes from register to register, lane to lane and through shared
// and local memory; what is computed from it is as bad, unless a defined operand decides alone (`false
// and x`, the other side of a selection).

#pragma once

#include <algorithm>
#include <optional>
#include <tuple>

#include "judge/chunk.h"
#include "partly_written.h"

namespace machine {

// Which read a value comes from, or 0; AS_READ if it is as it was read from memory, or put together of what
// was, and nothing is computed from it.
using Id = u32;
constexpr Id AS_READ = Id(1) << 31;

// Such values in words of shared or local memory: what a word holds, in part or as a whole, or that it is
// written.
constexpr Id WRITTEN = ~Id(0), IN_PART = Id(1) << 30, FLAGS = AS_READ | IN_PART;

// What is unwritten of a register: the read that it comes from, and which bits.
struct Origin {
    Id id = 0;
    Unset unset;

    explicit operator bool() const { return id != 0; }
    bool whole() const { return unset.whole; }
};

class Uninitialised {
   public:
    struct Stored {
        int lane, memory;
        i64 at;
        int width;
        Id id;  // 0 of what is written
        i32 user;
    };

    Uninitialised(const Launch& launch, const Judged& judged, const Geometry& geometry)
        : launch_(launch), judged_(judged), geometry_(geometry),
          rows_(launch.register_bytes / ROW_BYTES + 1) {}

    // New blocks.
    void start() {
        reads_.clear(), lanes_.clear(), stored_.clear(), found_.reset();
        registers_.clear();
        registers_.resize(geometry_.all_warps());
        for (int n = 0; n < judged_.unset_count; n++) {
            const UnsetRegister& each = judged_.unset[n];
            const u32 read = begin(UNSET, NO_SITE, {each.slot});
            for (int w = 0; w < geometry_.all_warps(); w++)
                each_lane(geometry_.lanes_of(w), [&](int i) {
                    put(w, each.row, i, {add(read, geometry_.lane(w, i), 0), {ALL_BITS, true}});
                });
        }
    }

    bool concerns(int warp) const { return registers_[warp] != nullptr; }
    Origin of(int warp, i32 row, int i) const {
        return row >= 0 && registers_[warp] ? registers_[warp][at(row) + i] : Origin{};
    }
    void put(int warp, i32 row, int i, Origin origin) {
        if (row < 0 || (!origin && !registers_[warp])) return;
        if (!registers_[warp]) registers_[warp] = zeros<Origin>(static_cast<size_t>(rows_) * LANES);
        registers_[warp][at(row) + i] = origin;
    }
    void forget(int warp, i32 row, u32 lanes) {
        each_lane(lanes, [&](int i) { put(warp, row, i, {}); });
    }

    // --- reads of what nothing has written ------------------------------------------------------

    // Begins to note a read by several lanes: `details` tell of what.
    u32 begin(What what, i32 site, std::vector<i64> details) {
        reads_.push_back({what, site, std::move(details), lanes_.size()});
        return static_cast<u32>(reads_.size() - 1);
    }
    // One of its lanes, in ascending order; `where` it read.
    Id add(u32 read, int lane, i64 where) {
        lanes_.push_back({read, lane, where});
        return static_cast<Id>(lanes_.size());
    }

    // --- uses -----------------------------------------------------------------------------------

    // A lane uses such a value. It is told when the basic block ends, or at its next store to memory
    // of the block's own: until then another fault may come first.
    void use(Id id, int lane, i32 user) {
        if (!id || found_) return;
        const Entry& entry = lanes_[(id & ~FLAGS) - 1];
        const Read& read = reads_[entry.read];
        size_t own = read.first;
        for (size_t n = read.first; n < lanes_.size() && lanes_[n].read == entry.read; n++)
            if (lanes_[n].lane == lane) {
                own = n;
                break;
            }
        std::vector<i64> details{lanes_[own].where, read.site == NO_SITE ? NO_SITE : user};
        details.insert(details.end(), read.details.begin(), read.details.end());
        const i32 site = read.site == NO_SITE ? user : read.site;
        found_ = Accusation{read.what, site, lanes_[own].lane, details};
    }
    void use_row(const Selection& lanes, i32 row, i32 user, bool parts_too = true) {
        if (found_) return;
        for (const Party& party : lanes)
            if (concerns(party.warp))
                each_lane(party.lanes, [&](int i) {
                    const Origin origin = of(party.warp, row, i);
                    if (parts_too || origin.whole())
                        use(origin.id, geometry_.lane(party.warp, i), user);
                });
    }
    // A lane has stored it as it was read, or what is written, to global memory. Of bytes side by side, where
    // some are written, the others may be a struct's padding, or fields that nobody needs; but a vector
    // whose first word nobody has set is a fault.
    void store(const Stored& stored) { stored_.push_back(stored); }

    void settle() {
        if (!stored_.empty()) look_at_stored();
        tell();
    }
    void tell() {  // what is certain
        if (found_) throw *found_;
    }

    // --- what an operation does to the registers of a warp --------------------------------------

    // Before a computing operation is executed.
    void flow(const Context& c, int warp, const Op& op, const Way& way) {
        Origin* const origins = registers_[warp].get();
        if (way.flow == GATHERED) {  // operands of the operation that follows
            gathered_.push_back(&op);
            return;
        }
        each_lane(c.active, [&](int i) {
            Origin made;
            if (way.flow == SELECTED) {
                made = computed(own(origins, op.source[2], i));
                if (!made) made = own(origins, op.source[c.row<i32>(op.source[2])[i] ? 0 : 1], i);
            } else if (way.flow == PACKED || !gathered_.empty()) {
                made = packed(origins, op, i);
            } else {
                made = by_bits(c, origins, op, i, way);
            }
            for (const i32 row : op.result)
                if (row >= 0) origins[at(row) + i] = made;
        });
        gathered_.clear();
    }

   private:
    static constexpr int ROW_BYTES = LANES * 4, WHOLE_WORD = 4;
    static constexpr i32 NO_SITE = -1;

    void look_at_stored() {
        std::stable_sort(stored_.begin(), stored_.end(), [](const Stored& a, const Stored& b) {
            return std::tie(a.lane, a.memory, a.at) < std::tie(b.lane, b.memory, b.at);
        });
        for (size_t first = 0, end; first < stored_.size(); first = end) {
            for (end = first + 1; end < stored_.size() && are_neighbours(stored_[end - 1], stored_[end]);) end++;
            size_t written = first;
            while (written < end && stored_[written].id) written++;
            for (size_t n = first; n < written; n++)
                if (written == end || begins_vector(stored_[n], stored_[written]))
                    use(stored_[n].id, stored_[n].lane, stored_[n].user);
        }
        stored_.clear();
    }
    static bool begins_vector(const Stored& first, const Stored& written) {
        return first.user == written.user && first.width >= WHOLE_WORD;
    }
    static bool are_neighbours(const Stored& a, const Stored& b) {
        return a.lane == b.lane && a.memory == b.memory && b.at <= a.at + a.width;
    }

    struct Read {
        What what;
        i32 site;  // NO_SITE for a register, which is told where it is used
        std::vector<i64> details;
        size_t first;  // of its lanes
    };
    struct Entry {
        u32 read;
        int lane;
        i64 where;
    };

    static size_t at(i32 row) { return static_cast<size_t>(row) / ROW_BYTES * LANES; }
    static Origin computed(Origin origin) { return {origin.id & ~FLAGS, origin.unset}; }
    static Origin own(const Origin* origins, i32 row, int i) {
        return row < 0 ? Origin{} : origins[at(row) + i];
    }
    // The first operand that is unwritten as a whole, else the first that is so in part.
    static void mix(Origin& mixed, const Origin* origins, const Op& op, int i) {
        for (const i32 row : op.source) {
            const Origin each = own(origins, row, i);
            if (each && (!mixed || (each.whole() && !mixed.whole()))) mixed = each;
        }
    }

    // What is computed from a value that is unwritten as a whole is so too; of others it is not followed.
    Origin packed(const Origin* origins, const Op& op, int i) const {
        Origin mixed;
        for (const Op* more : gathered_) mix(mixed, origins, *more, i);
        mix(mixed, origins, op, i);
        return mixed.whole() ? Origin{mixed.id & ~FLAGS, {ALL_BITS, true}} : Origin{};
    }

    static Origin by_bits(const Context& c, const Origin* origins, const Op& op, int i, const Way& way) {
        Origin mixed;
        mix(mixed, origins, op, i);
        if (!mixed) return {};
        Operand operands[PartlyWritten::MOST_OPERANDS];
        for (int n = 0; n < PartlyWritten::MOST_OPERANDS; n++)
            operands[n] = {own(origins, op.source[n], i).unset, value(c, op.source[n], i, width(way, n))};
        const Unset left = PartlyWritten::result(way, operands);
        if (!left.bits) return {};
        if (way.flow == COMPUTED || way.flow == COMPARED) return {mixed.id & ~FLAGS, left};
        return {mixed.id, left};
    }

    // Of an operand, in bytes: places and lengths have four.
    static int width(const Way& way, int n) {
        const bool is_place = way.flow == INSERTED ? n > 1
                                                   : n > 0 && (way.flow == SHIFTED_LEFT || way.flow == SHIFTED_RIGHT ||
                                                               way.flow == FIELD);
        return is_place ? 4 : way.bytes;
    }
    static u64 value(const Context& c, i32 row, int i, int bytes) {
        return row < 0 ? 0 : bytes == 8 ? c.row<u64>(row)[i] : c.row<u32>(row)[i];
    }

    const Launch& launch_;
    const Judged& judged_;
    const Geometry& geometry_;
    int rows_;
    std::vector<Read> reads_;
    std::vector<Entry> lanes_;
    std::vector<Held<Origin>> registers_;  // by warp: of each row, of each lane
    std::vector<const Op*> gathered_;
    std::vector<Stored> stored_;  // since it was settled
    std::optional<Accusation> found_;
};

}  // namespace machine
