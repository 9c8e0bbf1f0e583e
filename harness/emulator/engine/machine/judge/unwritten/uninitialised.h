// Follows values that were read from uninitialised memory: using such a value is a fault.
//
// Reading such a word is not a fault by itself. A struct is copied with its padding, a merge sort reads one
// element past the end and then ignores it, the compiler moves loads to places where the source has none. Using
// it is a fault: as an address, in a branch, an atomic, a vote or a printed value, or by storing it to global
// memory, except for words that are written in part, and for what a lane copies next to what is written. In
// between, the value may move from register to register, from lane to lane and through shared and local memory.
// A value computed from it is treated alike, unless a defined operand alone decides the result
// (`false and x`, the other side of a selection).

#pragma once

#include <algorithm>
#include <optional>
#include <tuple>

#include "judge/chunk.h"
#include "partly_written.h"

namespace machine {

// The read that a value comes from, or 0. AS_READ is set if the value is unchanged since it was read from
// memory, or assembled from such values without any computation.
using Id = u32;
constexpr Id AS_READ = Id(1) << 31;

// What a word of shared or local memory holds: such a value, as a whole or in part (IN_PART), or WRITTEN.
constexpr Id WRITTEN = ~Id(0), IN_PART = Id(1) << 30, FLAGS = AS_READ | IN_PART;

// The uninitialised bits of a register, and the read that they come from.
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
        Id id;  // 0 if the value is written
        i32 user;
    };

    Uninitialised(const Launch& launch, const Judged& judged, const Geometry& geometry)
        : launch_(launch), judged_(judged), geometry_(geometry),
          rows_(static_cast<size_t>(launch.register_bytes) / ROW_BYTES + 1) {}

    // New blocks begin.
    void start() {
        reads_.clear(), lanes_.clear(), stored_.clear(), found_.reset();
        stores_unwritten_ = false;
        registers_.resize(geometry_.all_warps());
        for (Registers& own : registers_) own.forget_all();
        for (int n = 0; n < judged_.unset_count; n++) {
            const UnsetRegister& each = judged_.unset[n];
            const u32 read = begin(UNSET, NO_SITE, {each.slot});
            for (int w = 0; w < geometry_.all_warps(); w++)
                each_lane(geometry_.lanes_of(w), [&](int i) {
                    put(w, each.row, i, {add(read, geometry_.lane(w, i), 0), {ALL_BITS, true}});
                });
        }
    }

    // Whether any register of the warp has ever held such a value, and whether one does now.
    bool concerns(int warp) const { return registers_[warp].ever; }
    bool holds(int warp) const { return registers_[warp].held > 0; }
    Origin of(int warp, i32 row, int i) const { return row < 0 ? Origin{} : registers_[warp].of(row, i); }
    void put(int warp, i32 row, int i, Origin origin) {
        if (row < 0 || (!origin && !holds(warp))) return;
        Registers& own = registers_[warp];
        if (!own.origins) own.make(rows_);
        own.put(row, i, origin);
    }
    void forget(int warp, i32 row, u32 lanes) {
        if (row >= 0) registers_[warp].forget(row, lanes);
    }

    // --- reads of what nothing has written ------------------------------------------------------

    // Begins to note a read by several lanes; `details` describe what is read.
    u32 begin(What what, i32 site, std::vector<i64> details) {
        reads_.push_back({what, site, std::move(details), lanes_.size()});
        return static_cast<u32>(reads_.size() - 1);
    }
    // Adds one of the lanes that read, in ascending order, and `where` it read.
    Id add(u32 read, int lane, i64 where) {
        lanes_.push_back({read, lane, where});
        return static_cast<Id>(lanes_.size());
    }

    // --- uses -----------------------------------------------------------------------------------

    // A lane uses such a value. The fault is reported when the basic block ends, or at its next store to the
    // block's own memory, because until then another fault may take precedence.
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
            each_lane(party.lanes & registers_[party.warp].lanes_of(row), [&](int i) {
                const Origin origin = of(party.warp, row, i);
                if (parts_too || origin.whole()) use(origin.id, geometry_.lane(party.warp, i), user);
            });
    }
    // A lane has stored such a value as it was read, or a written value, to global memory. If some of several
    // adjacent bytes are written, the others may be a struct's padding or unused fields; but a vector whose
    // first word was never set is a fault.
    void store(const Stored& stored) {
        stored_.push_back(stored);
        stores_unwritten_ |= stored.id != 0;
    }

    void settle() {
        if (!stored_.empty()) look_at_stored();
        tell();
    }
    void tell() {  // reports the fault that is certain
        if (found_) throw *found_;
    }

    // --- what an operation does to the registers of a warp --------------------------------------

    // Called before a computing operation is executed.
    void flow(const Context& c, int warp, const Op& op, const Way& way) {
        if (way.flow == GATHERED) {  // operands of the operation that follows
            gathered_.push_back(&op);
            return;
        }
        Registers& own = registers_[warp];
        u32 from = own.lanes_of(op.source);
        for (const Op* more : gathered_) from |= own.lanes_of(more->source);
        each_lane(from & c.active, [&](int i) {
            Origin made;
            if (way.flow == SELECTED) {
                made = computed(own.of(op.source[2], i));
                if (!made) made = own.of(op.source[c.row<i32>(op.source[2])[i] ? 0 : 1], i);
            } else if (way.flow == PACKED || !gathered_.empty()) {
                made = packed(own, op, i);
            } else {
                made = by_bits(c, own, op, i, way);
            }
            for (const i32 row : op.result)
                if (row >= 0) own.put(row, i, made);
        });
        for (const i32 row : op.result)
            if (row >= 0) own.forget(row, c.active & ~from);
        gathered_.clear();
    }

   private:
    static constexpr int ROW_BYTES = LANES * 4, WHOLE_WORD = 4;
    static constexpr i32 NO_SITE = -1;

    // Origins of a warp's registers, by row and lane.
    struct Registers {
        Held<Origin> origins;     // valid only for lanes that have one
        std::vector<u32> lanes;   // by row: the lanes that have one
        int held = 0;             // rows in which any lane has one
        bool ever = false;

        void make(size_t rows) {
            origins = unset<Origin>(rows * LANES);
            lanes.assign(rows, 0);
        }
        void forget_all() {
            if (held) std::fill(lanes.begin(), lanes.end(), 0);
            held = 0, ever = false;
        }
        u32 lanes_of(i32 row) const { return row < 0 || !held ? 0 : lanes[row / ROW_BYTES]; }
        template <size_t COUNT>
        u32 lanes_of(const i32 (&rows)[COUNT]) const {
            u32 all = 0;
            for (const i32 row : rows) all |= lanes_of(row);
            return all;
        }
        Origin of(i32 row, int i) const {
            return lanes_of(row) >> i & 1 ? origins[static_cast<size_t>(row) / ROW_BYTES * LANES + i] : Origin{};
        }
        void put(i32 row, int i, Origin origin) {
            if (!origin) return forget(row, u32(1) << i);
            u32& there = lanes[row / ROW_BYTES];
            held += !there;
            there |= u32(1) << i;
            ever = true;
            origins[static_cast<size_t>(row) / ROW_BYTES * LANES + i] = origin;
        }
        void forget(i32 row, u32 which) {
            if (!held) return;
            u32& there = lanes[row / ROW_BYTES];
            held -= there && !(there & ~which);
            there &= ~which;
        }
    };

    void look_at_stored() {
        if (!stores_unwritten_) {
            stored_.clear();
            return;
        }
        stores_unwritten_ = false;
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
        i32 site;  // NO_SITE for a register, for which the place of use is reported
        std::vector<i64> details;
        size_t first;  // index of its first lane in `lanes_`
    };
    struct Entry {
        u32 read;
        int lane;
        i64 where;
    };

    static Origin computed(Origin origin) { return {origin.id & ~FLAGS, origin.unset}; }
    // The first operand that is wholly uninitialised, otherwise the first that is partly so.
    static void mix(Origin& mixed, const Registers& own, const Op& op, int i) {
        for (const i32 row : op.source) {
            const Origin each = own.of(row, i);
            if (each && (!mixed || (each.whole() && !mixed.whole()))) mixed = each;
        }
    }

    // The result is wholly uninitialised if any operand is. Partly uninitialised operands are not
    // followed.
    Origin packed(const Registers& own, const Op& op, int i) const {
        Origin mixed;
        for (const Op* more : gathered_) mix(mixed, own, *more, i);
        mix(mixed, own, op, i);
        return mixed.whole() ? Origin{mixed.id & ~FLAGS, {ALL_BITS, true}} : Origin{};
    }

    static Origin by_bits(const Context& c, const Registers& own, const Op& op, int i, const Way& way) {
        Origin mixed;
        mix(mixed, own, op, i);
        if (!mixed) return {};
        Operand operands[PartlyWritten::MOST_OPERANDS];
        for (int n = 0; n < PartlyWritten::MOST_OPERANDS; n++)
            operands[n] = {own.of(op.source[n], i).unset, value(c, op.source[n], i, width(way, n))};
        const Unset left = PartlyWritten::result(way, operands);
        if (!left.bits) return {};
        if (way.flow == COMPUTED || way.flow == COMPARED) return {mixed.id & ~FLAGS, left};
        return {mixed.id, left};
    }

    // An operand's width in bytes; positions and lengths have four.
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
    size_t rows_;
    std::vector<Read> reads_;
    std::vector<Entry> lanes_;
    std::vector<Registers> registers_;  // by warp
    std::vector<const Op*> gathered_;
    std::vector<Stored> stored_;  // since the last call of `settle`
    bool stores_unwritten_ = false;  // whether any of them is unwritten
    std::optional<Accusation> found_;
};

}  // namespace machine
