// The registers of a warpgroup's products (`wgmma`): used before they are waited for, or unfenced.
//
// From when a product is issued until its warp has waited for its group, the tensor cores write its sums
// and read its factor in registers; to read or change them in between is undefined. And `wgmma.fence` has
// to stand before a warpgroup's first product, and between an instruction that writes a register and a
// product that takes it, but for sums that products of one shape hand on (PTX ISA 9.0, "wgmma.fence" and
// "wgmma.wait_group").
//
// PTX is not in the program's order. The compiler moves variables into the registers that a product takes
// and out of them, and puts arithmetic, which no `asm volatile` holds, behind a fence or before a wait. What
// it cannot move past those are accesses to memory, what lanes do together, and other products. So a value
// that is moved or computed from a sum in flight is followed, and accused where one of these takes it before
// the wait. And a fence is missing only where a value depends on a product that was issued behind the last
// one. Spills to a thread's own memory are not followed.

#pragma once

#include <set>

#include "judge/operations.h"

namespace machine {

class ProductRegisters {
   public:
    ProductRegisters(const Launch& launch, const Geometry& geometry)
        : geometry_(geometry), rows_(launch.register_bytes / ROW_BYTES + 1) {
        for (int n = 0; launch.checks && n < launch.op_count && !follows_; n++)
            follows_ = known()[launch.ops[n].handler].role == HOLDS_REGISTERS;
    }

    // Whether there are products in the program.
    bool follows() const { return follows_; }

    void start() {
        if (!follows_) return;
        warps_.assign(geometry_.all_warps(), {});
        for (Warp& own : warps_) own.rows.resize(rows_);
    }

    // --- what products do -----------------------------------------------------------------------

    void fence(const Selection& lanes) {
        for (const Party& party : lanes) warps_[party.warp].fences++;
    }
    void commit(const Selection& lanes) {
        for (const Party& party : lanes) warps_[party.warp].committed++;
    }
    void wait(int left, const Selection& lanes) {
        for (const Party& party : lanes) {
            Warp& own = warps_[party.warp];
            own.complete = std::max(own.complete, own.committed - left);
            if (own.complete == own.committed) own.taken.clear();
        }
    }

    // A product takes registers: sums of a shape, or a factor (`immediate` is 0).
    void hold(const Op& op, const Selection& lanes) {
        for (const auto& [w, here] : lanes) {
            if (here != EVERYBODY)
                throw Accusation{NOT_WHOLE_WARP, op.site, geometry_.lane(w, __builtin_ctz(here)), {}};
            Warp& own = warps_[w];
            own.product = op.site;
            if (!own.fences) unfenced(op, w, NO_SITE);
            for (const i32 place : op.source)
                if (place >= 0) hold(op, w, own, own.rows[place / ROW_BYTES]);
        }
    }

    // --- what other instructions do -------------------------------------------------------------

    // Before lanes of a warp execute it. `keeps`: it moves what it takes to or from a thread's own memory.
    void pass(const Op& op, int w, u32 lanes, Flow flow, bool computes, bool keeps = false) {
        Warp& own = warps_[w];
        if (op.site == own.product) return;  // by which a product is computed here
        const bool moves = flow == MOVED || flow == TAKES_LOW || flow == TAKES_HIGH || flow == JOINED;
        Row made = own.gathered;
        own.gathered = {};
        for (const i32 place : op.source) {
            if (place < 0) continue;
            Row& row = own.rows[place / ROW_BYTES];
            made.behind = std::max(made.behind, row.behind);
            if (moves && row.maker != NO_SITE) made.maker = row.maker;
            if (!own.writes(row)) continue;
            if (!computes && !keeps) throw accusation(PRODUCT_NOT_AWAITED, op, w, row, READ);
            own.taken.insert(key(row));
            if (!own.writes(made) || row.group > made.group)
                made.product = row.product, made.group = row.group, made.shape = row.shape, made.holds = COPY;
        }
        if (flow == GATHERED) {  // operands of the operation that follows
            own.gathered = made;
            return;
        }
        if (!moves) made.maker = op.site;
        if (!computes || (own.writes(made) && lanes != geometry_.lanes_of(w))) made.product = NO_SITE;
        for (const i32 place : op.result) {
            if (place < 0) continue;
            Row& row = own.rows[place / ROW_BYTES];
            if (own.in_flight(row) && row.holds == SUM && !own.taken.count(key(row)))
                throw accusation(PRODUCT_NOT_AWAITED, op, w, row, WRITE);
            row = keeps ? Row{} : made;
        }
    }

   private:
    static constexpr int ROW_BYTES = LANES * 4;
    static constexpr i32 NO_SITE = -1;
    enum Holds : u8 { SUM, COPY, FACTOR };  // COPY: moved or computed from a sum

    struct Row {
        i32 product = NO_SITE;  // the last one that took it
        i32 group = 0, shape = 0;
        Holds holds = SUM;
        i32 maker = NO_SITE;  // the instruction that computed it, if that was no product
        i32 behind = -1;      // after so many fences the last product was issued on which it depends
    };
    struct Warp {
        std::vector<Row> rows;
        i32 fences = 0, committed = 0, complete = 0;  // groups
        i32 product = NO_SITE;                        // the one that was issued last
        std::set<std::pair<i32, i32>> taken;          // products of which a sum was moved or computed with
        Row gathered;                                 // of operands of the next operation

        bool in_flight(const Row& row) const { return row.product != NO_SITE && row.group >= complete; }
        bool writes(const Row& row) const { return in_flight(row) && row.holds != FACTOR; }
    };

    static std::pair<i32, i32> key(const Row& row) { return {row.product, row.group}; }

    void hold(const Op& op, int w, Warp& own, Row& row) {
        const i32 shape = static_cast<i32>(op.immediate);
        const bool sums = shape != 0;
        if (own.in_flight(row)) {
            if (own.writes(row) && (!sums || row.maker != NO_SITE))
                throw accusation(PRODUCT_NOT_AWAITED, op, w, row, READ);
            if (sums && row.holds == SUM && row.shape != shape && row.behind == own.fences)
                unfenced(op, w, row.product);
        }
        if (row.maker != NO_SITE && row.behind == own.fences) unfenced(op, w, row.maker);
        row.product = op.site, row.group = own.committed, row.shape = shape;
        row.holds = sums ? SUM : FACTOR;
        if (sums) row.maker = NO_SITE, row.behind = own.fences;
    }

    [[noreturn]] void unfenced(const Op& op, int w, i32 toucher) const {
        throw Accusation{PRODUCT_NOT_FENCED, op.site, geometry_.lane(w, 0), {toucher}};
    }
    Accusation accusation(What what, const Op& op, int w, const Row& row, Verb verb) const {
        const Warp& own = warps_[w];
        const bool committed = row.group < own.committed;
        return {what, op.site, geometry_.lane(w, 0),
                {verb, row.product, row.maker, committed ? own.committed - row.group - 1 : NO_SITE}};
    }

    const Geometry& geometry_;
    const size_t rows_;
    bool follows_ = false;
    std::vector<Warp> warps_;
};

}  // namespace machine
