// The registers of a warpgroup's products (`wgmma`): used before they are waited for, or unfenced.
//
// From when a product is issued until its warp has waited for its group, the tensor cores write its sums
// and read its factor in registers; to read or change them in between is undefined. And `wgmma.fence` has
// to stand before a warpgroup's first product, and between an instruction that writes a register and a
// product that takes it, but for sums that products of one shape hand on (PTX ISA 9.0, "wgmma.fence" and
// "wgmma.wait_group").
//
// PTX has more registers than the program. The compiler moves a variable into the register that a product
// takes, and from there, before or behind a fence or a wait. So a move is neither a use nor a write: what
// it moves is in flight, or fenced, as before. The same holds for spills to a thread's own memory, and a
// constant needs no fence. The registers that a product left behind are free once its sums were moved.

#pragma once

#include <set>

#include "operations.h"

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
    void pass(const Op& op, int w, u32 lanes, Flow flow, bool keeps = false) {
        Warp& own = warps_[w];
        if (op.site == own.product) return;  // by which a product is computed here
        const bool moves = flow == MOVED || flow == TAKES_LOW || flow == TAKES_HIGH || flow == JOINED;
        Row moved;
        for (const i32 place : op.source) {
            if (place < 0) continue;
            Row& row = own.rows[place / ROW_BYTES];
            if (own.writes(row)) {
                if (!moves && !keeps) throw accusation(PRODUCT_NOT_AWAITED, op, w, row, READ);
                own.taken.insert(key(row));
                if (!own.writes(moved)) moved.product = row.product, moved.group = row.group;
                moved.holds = COPY, moved.shape = row.shape;
            }
            if (moves && row.touched >= moved.touched)
                moved.touched = row.touched, moved.toucher = row.toucher;
        }
        if (!moves) moved.product = NO_SITE;
        if (!moves && !keeps) moved.touched = own.fences, moved.toucher = op.site;
        if (own.writes(moved) && lanes != geometry_.lanes_of(w)) moved.product = NO_SITE;
        for (const i32 place : op.result) {
            if (place < 0) continue;
            Row& row = own.rows[place / ROW_BYTES];
            const bool loses = row.holds == SUM ? !own.taken.count(key(row)) && !(moves && moved.holds == COPY)
                                                : row.holds == FACTOR && !moves && !keeps;
            if (own.in_flight(row) && loses) throw accusation(PRODUCT_NOT_AWAITED, op, w, row, WRITE);
            row = moved;
        }
    }

   private:
    static constexpr int ROW_BYTES = LANES * 4;
    static constexpr i32 NO_SITE = -1;
    enum Holds : u8 { SUM, COPY, FACTOR };  // COPY: a sum that was moved here

    struct Row {
        i32 product = NO_SITE;  // the last one that took it
        i32 group = 0, shape = 0;
        Holds holds = SUM;
        i32 touched = -1;     // after so many fences, by an instruction that computed or loaded it
        i32 toucher = NO_SITE;
        i32 begun = 0;        // after so many fences its product was issued
    };
    struct Warp {
        std::vector<Row> rows;
        i32 fences = 0, committed = 0, complete = 0;  // groups
        i32 product = NO_SITE;                        // the one that was issued last
        std::set<std::pair<i32, i32>> taken;          // products of which a sum was moved elsewhere

        bool in_flight(const Row& row) const { return row.product != NO_SITE && row.group >= complete; }
        bool writes(const Row& row) const { return in_flight(row) && row.holds != FACTOR; }
    };

    static std::pair<i32, i32> key(const Row& row) { return {row.product, row.group}; }

    void hold(const Op& op, int w, Warp& own, Row& row) {
        const i32 shape = static_cast<i32>(op.immediate);
        const bool sums = shape != 0;
        if (row.touched == own.fences) unfenced(op, w, row.toucher);
        if (own.in_flight(row)) {
            if (sums && row.holds == FACTOR) throw accusation(PRODUCT_NOT_AWAITED, op, w, row, WRITE);
            if (!sums && row.holds != FACTOR) throw accusation(PRODUCT_NOT_AWAITED, op, w, row, READ);
            if (sums && row.holds == SUM && row.shape != shape && row.begun == own.fences)
                unfenced(op, w, row.product);
        }
        row.product = op.site, row.group = own.committed, row.shape = shape, row.begun = own.fences;
        row.holds = sums ? SUM : FACTOR;
        if (sums) row.touched = -1;
    }

    [[noreturn]] void unfenced(const Op& op, int w, i32 toucher) const {
        throw Accusation{PRODUCT_NOT_FENCED, op.site, geometry_.lane(w, 0), {toucher}};
    }
    Accusation accusation(What what, const Op& op, int w, const Row& row, Verb verb) const {
        const Warp& own = warps_[w];
        const bool committed = row.group < own.committed;
        return {what, op.site, geometry_.lane(w, 0),
                {verb, row.product, row.holds == FACTOR, committed ? own.committed - row.group - 1 : NO_SITE}};
    }

    const Geometry& geometry_;
    const size_t rows_;
    bool follows_ = false;
    std::vector<Warp> warps_;
};

}  // namespace machine
