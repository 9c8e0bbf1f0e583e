// Clocks, calls with a stack, and requests of device code to the system. Programs with these run only under the
// judge.

#include "rows.h"

namespace machine {
namespace {

template <class T, int shift>
void clock(Context& c, const Op& op) {
    T* r = c.row<T>(op.result[0]);
    each_lane(c.active, [&](int i) { r[i] = static_cast<T>(c.clock >> shift); });
}

// Computes a callee's stack pointer.
void enter_frame(Context& c, const Op& op) {
    map<u64, u64, u64>(c, op, [](u64 pointer, u64 step) { return pointer + step; });
}

// Copies a struct within a thread's local memory.
void copy_struct(Context& c, const Op& op) {
    const u64 *source = c.row<u64>(op.source[0]), *plus = c.row<u64>(op.source[1]);
    const u64 *target = c.row<u64>(op.source[2]), *beyond = c.row<u64>(op.source[3]);
    each_lane(c.active, [&](int i) {
        u8* local = c.local + static_cast<i64>(c.thread(i)) * c.launch->local_bytes;
        std::memmove(local + target[i] + beyond[i], local + source[i] + plus[i], op.width);
    });
}

// The judge checks whether warps receive the registers that they request.
void set_registers(Context&, const Op&) {}

// Called before a value read from a clock is used: only the judge has clocks.
void use_clock(Context& c, const Op& op) {
    if (!c.judged) throw Suspicion{LEFT_TO_THE_JUDGE, op.site, 0};
}

void by_the_judge(Context&, const Op& op) { throw Suspicion{LEFT_TO_THE_JUDGE, op.site, 0}; }

}  // namespace

std::vector<Entry> system_entries() {
    return {
        {"clock/4", clock<u32, 0>}, {"clock.hi/4", clock<u32, 32>}, {"clock/8", clock<u64, 0>},
        {"clock used", use_clock, MARKS},
        {"enter_frame", enter_frame, ENTERS_FRAME}, {"copy_struct", copy_struct, COPIES_STRUCT},
        {"printf", by_the_judge, PRINTS}, {"assertfail", by_the_judge, FAILS},
        {"set_registers", set_registers, SETS_REGISTERS},
    };
}

}  // namespace machine
