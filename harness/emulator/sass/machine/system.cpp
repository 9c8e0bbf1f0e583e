// Calls to the driver: printf, malloc and free, and the message of a failed assertion. Its copies to another block's
// shared memory are not executed.
//
// The calling convention passes arguments in R4 and the registers after it, each aligned to its
// size, and returns the result in R4.

#include "memory/addresses.h"

namespace sass {
namespace {

constexpr i64 HEAP_ALIGNMENT = 16;

u64 argument(const Context& c, const Instruction& n, int which, int lane) {
    const u32* row = c.source(n.source[which]) + lane;
    return static_cast<u64>(row[LANES]) << 32 | row[0];
}

void print(Context& c, const Instruction& n) {
    u32* result = c.result(n);
    each_lane(c.on, [&](int i) {
        c.lane = i;
        const i32 count = c.launch->print(c.block->number, i, argument(c, n, 1, i), argument(c, n, 2, i));
        if (count < 0) throw Fault{PRINTED_TOO_MUCH, i, 0};
        result[i] = static_cast<u32>(count);
    });
}

// Changes the heap's second word, the number of allocations in use.
void count(const Buffer& heap, u64 more) {
    u64 used;
    std::memcpy(&used, heap.data + sizeof used, sizeof used);
    used += more;
    std::memcpy(heap.data + sizeof used, &used, sizeof used);
}

// Allocates the next bytes of the heap, whose first word says how many have been given out, or returns null. A launch
// reuses no memory.
void allocate(Context& c, const Instruction& n) {
    const Buffer& heap = c.launch->buffers[c.launch->heap];
    u32* result = c.result(n);
    each_lane(c.on, [&](int i) {
        const u64 given = std::min<u64>(argument(c, n, 1, i), heap.size);
        const u64 size = (given + HEAP_ALIGNMENT - 1) & ~(HEAP_ALIGNMENT - 1);
        u64 used;
        std::memcpy(&used, heap.data, sizeof used);
        const u64 place = heap.base + HEAP_ALIGNMENT + used;
        used += size;
        std::memcpy(heap.data, &used, sizeof used);
        const bool fits = used <= static_cast<u64>(heap.size - HEAP_ALIGNMENT);
        result[i] = fits ? static_cast<u32>(place) : 0;
        result[LANES + i] = fits ? static_cast<u32>(place >> 32) : 0;
        if (fits) count(heap, 1);
    });
}

void release(Context& c, const Instruction& n) {
    each_lane(c.on, [&](int i) {
        if (argument(c, n, 1, i)) count(c.launch->buffers[c.launch->heap], ~u64{0});
    });
}

// In the emulator the function's address is its number (a System), which has been written to the
// constants. Lanes may call different functions.
void call(Context& c, const Instruction& n) {
    const u32* address = c.source(n.source[0]);
    const u32 all = c.on;
    for (const u32 function : {VPRINTF, MALLOC, FREE, ASSERTFAIL}) {
        const u32 lanes = all & lanes_where([&](int i) { return address[i] == function; });
        if (!lanes) continue;
        c.act(lanes);
        if (function == VPRINTF) print(c, n);
        if (function == MALLOC) allocate(c, n);
        if (function == FREE) release(c, n);
        if (function == ASSERTFAIL) {
            c.lane = __builtin_ctz(lanes);
            c.details = {static_cast<i64>(argument(c, n, 1, c.lane)),
                         static_cast<i64>(argument(c, n, 3, c.lane))};
            throw Fault{ASSERTED, c.lane, 0};
        }
    }
    const u32 copies = all & lanes_where([&](int i) { return address[i] == BULK_COPY; });
    if (copies) throw Fault{COPIED_BY_DRIVER, __builtin_ctz(copies), 0};
    const u32 strange = all & ~lanes_where([&](int i) { return address[i] >= VPRINTF && address[i] <= ASSERTFAIL; });
    if (strange) throw Fault{BAD_TARGET, __builtin_ctz(strange), address[__builtin_ctz(strange)]};
    c.act(all);
}

}  // namespace

int peek(const Context& c, i64 address, u8* out, int most) {
    const u8* from = nullptr;
    i64 size = 0;
    const i32 space = space_in_cluster(c, address);
    const i64 within = address - base_of(space) - (space == SHARED ? own_window(*c.block) : 0);
    if (space == SHARED) {
        from = c.block->shared.data(), size = static_cast<i64>(c.block->shared.size());
    } else if (space == LOCAL) {
        size = c.launch->local_bytes;
        from = c.block->local.data() + size * (LANES * c.warp->number + c.lane);
    } else if (const Buffer* buffer = buffer_at(c, address)) {
        const i64 at = address - buffer->base;
        const int count = static_cast<int>(std::min<i64>(buffer->size - at, most));
        std::memcpy(out, buffer->data + at, count);
        return count;
    }
    if (within < 0 || within >= size) return 0;
    const int count = static_cast<int>(std::min<i64>(size - within, most));
    std::memcpy(out, from + within, count);
    return count;
}

std::vector<Entry> system_entries() { return {{"SYSTEM", call}}; }

}  // namespace sass
