// Finds registers of a warpgroup's products (`wgmma`) that are used before the wait or without a fence.
//
// From the issue of a product until its warp has waited for its group, the tensor cores write its
// sums and read its operand in registers; reading or changing them in between is undefined. In
// addition, a `wgmma.fence` is required before a warpgroup's first product, and between an
// instruction that writes a register and a product that takes it, except for sums passed on between
// products of the same shape (PTX ISA 9.0, "wgmma.fence" and "wgmma.wait_group").
//
// PTX does not keep the program's order. The compiler moves variables into and out of the registers
// that a product takes, and moves arithmetic, which is not bound by `asm volatile`, after a fence
// or before a wait. It cannot move memory accesses, warp-wide operations or other products past
// those. A value that is moved or computed from a sum in flight is therefore followed, and reported
// when one of these takes it before the wait. A fence counts as missing only if a value depends on
// a product that was issued after the last fence. Spills to local memory are not followed.

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

    // A product uses registers: sums of a given shape, or an operand (`immediate` is 0).
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

    // Called before lanes of a warp execute an operation. `keeps`: whether it moves data to or from
    // local memory.
    void pass(const Op& op, int w, u32 lanes, Flow flow, bool computes, bool keeps = false) {
        Warp& own = warps_[w];
        if (op.site == own.product) return;  // it is part of how the product is computed here
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
        i32 product = NO_SITE;  // the last product that took it
        i32 group = 0, shape = 0;
        Holds holds = SUM;
        i32 maker = NO_SITE;  // the instruction that computed it, if that was no product
        i32 behind = -1;      // number of fences before the last product on which it depends
    };
    struct Warp {
        std::vector<Row> rows;
        i32 fences = 0, committed = 0, complete = 0;  // groups
        i32 product = NO_SITE;                        // the one that was issued last
        std::set<std::pair<i32, i32>> taken;          // products with a sum that was moved or used
        Row gathered;                                 // from operands of the next operation

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
