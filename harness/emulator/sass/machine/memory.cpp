// Loads, stores and atomics, with what each costs.

#include <algorithm>

#include "rows_of.h"
#include "wavefronts.h"

namespace sass {
namespace {

using machine::Access;

// The address space of `memory/address_space.py`.
constexpr int SLOT_BITS = 36;
constexpr i64 SHARED_WINDOW = i64(1) << 46;
constexpr i64 LOCAL_WINDOW = SHARED_WINDOW + (i64(1) << 32);
constexpr i64 WINDOW_BYTES = i64(1) << 24;

enum Verb { READ, WRITE, UPDATE };
enum : i32 { BASE_IS_WIDE = 1, OFFSET_IS_WIDE = 2 };

// `register + uniform register + immediate`: sources `first` and the one behind it.
Access addressed(const Context& c, const Instruction& n, int first = 0) {
    Access access;
    access.active = c.on;
    access.width = n.width;
    const u32 *base = c.source(n.source[first]), *base_high = c.source_high(n.source[first]);
    const u32 *more = c.source(n.source[first + 1]), *more_high = c.source_high(n.source[first + 1]);
    if (n.is_wide) {
        for (int i = 0; i < LANES; i++) {
            const u64 high = n.is_wide & BASE_IS_WIDE ? base_high[i] : 0;
            const u64 above = n.is_wide & OFFSET_IS_WIDE ? more_high[i] : 0;
            access.address[i] = static_cast<i64>((high << 32 | base[i]) + (above << 32 | more[i]) +
                                                 static_cast<u64>(n.immediate));
        }
    } else {
        const u32 offset = static_cast<u32>(n.immediate);
        const int scale = n.source[first].half;
        for (int i = 0; i < LANES; i++) access.address[i] = (base[i] << scale) + more[i] + offset;
    }
    machine::survey(access);
    return access;
}

// The 32-bit addresses of another memory operand, of an asynchronous copy's target.
Access shared_target(const Context& c, const Instruction& n) {
    Access access;
    access.active = c.on;
    access.width = n.width;
    const u32 *base = c.source(n.source[2]), *more = c.source(n.source[3]);
    for (int i = 0; i < LANES; i++) access.address[i] = base[i] + more[i] + static_cast<u32>(n.target);
    machine::survey(access);
    return access;
}

void aligned(const Access& access, int to) {
    i64 bits = 0;
    each_lane(access.active, [&](int i) { bits |= access.address[i]; });
    if (!(bits & (to - 1))) return;
    each_lane(access.active, [&](int i) {
        if (access.address[i] & (to - 1)) throw Fault{MISALIGNED, i, access.address[i]};
    });
}

// The first lane whose address is not within [low, low + size).
[[noreturn]] void outside(const Access& access, i64 low, i64 size) {
    int lane = 0;
    each_lane(~0u & access.active, [&](int i) {
        const i64 at = access.address[i] - low;
        if ((at < 0 || at + access.width > size) && !lane) lane = i + 1;
    });
    lane = lane ? lane - 1 : __builtin_ctz(access.active);
    throw Fault{OUTSIDE, lane, access.address[lane]};
}

const Buffer* buffer_at(const Context& c, i64 address) {
    const i64 slot = (address >> SLOT_BITS) - 1;
    if (slot < 0 || slot >= c.launch->buffer_count) return nullptr;
    const Buffer& buffer = c.launch->buffers[slot];
    return address >= buffer.base && address < buffer.base + buffer.size ? &buffer : nullptr;
}

// A half or a byte has no compare-and-swap of its own: the code takes the word that it stands in.
i64 end_of(const Buffer& buffer, int width) {
    return buffer.base + buffer.size + (width == machine::WORD_BYTES ? buffer.slack : 0);
}

// Where each lane's bytes are. Lanes of one instruction may go to different buffers.
struct Places {
    u8* at[LANES];
};

void in_global(const Context& c, const Access& access, Verb verb, Places& places) {
    const Buffer* common = buffer_at(c, access.low);
    if (common && access.high + access.width <= end_of(*common, access.width)) {
        if (verb != READ && !common->writable)
            throw Fault{READ_ONLY, __builtin_ctz(access.active), access.low};
        for (int i = 0; i < LANES; i++) places.at[i] = common->data + (access.address[i] - common->base);
        return;
    }
    each_lane(access.active, [&](int i) {
        const i64 address = access.address[i];
        const Buffer* own = buffer_at(c, address);
        if (!own || address + access.width > end_of(*own, access.width)) throw Fault{OUTSIDE, i, address};
        if (verb != READ && !own->writable) throw Fault{READ_ONLY, i, address};
        places.at[i] = own->data + (address - own->base);
    });
}

void in_shared(const Context& c, const Access& access, Places& places) {
    const i64 size = static_cast<i64>(c.block->shared.size());
    if (access.low < c.launch->shared_start || access.high + access.width > size)
        outside(access, c.launch->shared_start, size - c.launch->shared_start);
    u8* data = c.block->shared.data();
    for (int i = 0; i < LANES; i++) places.at[i] = data + access.address[i];
}

void in_local(const Context& c, const Access& access, Places& places) {
    const i64 size = c.launch->local_bytes;
    if (access.low < 0 || access.high + access.width > size) outside(access, 0, size);
    u8* data = c.block->local.data() + size * LANES * c.warp->number;
    for (int i = 0; i < LANES; i++) places.at[i] = data + size * i + access.address[i];
}

// Finds the bytes, checks them and counts what the access costs. Returns the space it went to.
i32 place(Context& c, const Instruction& n, Access& access, Verb verb, Places& places) {
    i32 space = n.space;
    if (space == GENERIC) {
        space = GLOBAL;
        if (access.low >= SHARED_WINDOW) {
            const i64 window = access.low >= LOCAL_WINDOW ? LOCAL_WINDOW : SHARED_WINDOW;
            if (access.high >= window + WINDOW_BYTES) outside(access, window, WINDOW_BYTES);
            for (int i = 0; i < LANES; i++) access.address[i] -= window;
            access.low -= window, access.high -= window;
            space = window == LOCAL_WINDOW ? LOCAL : SHARED;
        }
    }
    aligned(access, access.width);
    if (space == GLOBAL) {
        in_global(c, access, verb, places);
    } else if (space == SHARED) {
        in_shared(c, access, places);
    } else {
        in_local(c, access, places);
    }
    return space;
}

void count_global(Context& c, i64 sectors) {
    c.counts.requests[c.at]++;
    c.counts.sectors[c.at] += sectors;
}

void count_shared(Context& c, machine::Wavefronts cost) {
    c.counts.shared_requests[c.at]++;
    c.counts.wavefronts[c.at] += cost.spent;
    c.counts.wavefronts_ideal[c.at] += cost.ideal;
}

// What an access costs is that of the instruction's last one, where its addresses lie as those did.
void count(Context& c, const Access& access, i32 space, bool is_load) {
    if (space != GLOBAL && space != SHARED) return;
    machine::Pattern& last = c.patterns[c.at];
    const i64 unit = space == GLOBAL ? i64(1) << machine::SECTOR_SHIFT : machine::WORD_BYTES;
    const bool may_change = c.launch->instructions[c.at].space == GENERIC;
    if (may_change || !machine::repeats(last, access, unit, c.mask)) {
        machine::remember(last, access);
        const machine::Wavefronts cost =
            space == GLOBAL ? machine::Wavefronts{machine::global_sectors(access), 0}
                            : wavefronts_of(access, is_load);
        last.spent = cost.spent, last.ideal = cost.ideal;
    }
    if (space == GLOBAL)
        count_global(c, last.spent);
    else
        count_shared(c, {last.spent, last.ideal});
}

enum : i32 { SIGN_EXTENDS = 1 };

template <int WORDS> void gather(Context& c, const Instruction& n, const Places& places) {
    u32* r = c.result(n);
    each_lane(c.on, [&](int i) {
        u32 words[WORDS];
        std::memcpy(words, places.at[i], sizeof words);
        for (int w = 0; w < WORDS; w++) r[LANES * w + i] = words[w];
    });
}

// The words at one address, for every lane.
void broadcast(Context& c, const Instruction& n, const u8* at) {
    for (int w = 0; w < n.width / 4; w++) {
        u32 word;
        std::memcpy(&word, at + 4 * w, 4);
        write(c, c.result(n, 0, w), [&](int) { return word; });
    }
}

void load(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    Places places;
    const i32 space = place(c, n, access, READ, places);
    count(c, access, space, true);
    if (n.width >= 4) {
        const int words = n.width / 4;
        if (c.full && words == 1 && access.in_a_row && space != LOCAL) {
            std::memcpy(c.result(n), places.at[0], LANES * 4);
            return;
        }
        if (access.low == access.high && space != LOCAL)
            broadcast(c, n, places.at[__builtin_ctz(c.on)]);
        else if (words == 1)
            gather<1>(c, n, places);
        else if (words == 2)
            gather<2>(c, n, places);
        else
            gather<4>(c, n, places);
        return;
    }
    u32* r = c.result(n);
    each_lane(c.on, [&](int i) {
        if (n.width == 2) {
            u16 raw;
            std::memcpy(&raw, places.at[i], 2);
            r[i] = n.flags & SIGN_EXTENDS ? static_cast<u32>(static_cast<i16>(raw)) : raw;
        } else {
            const u8 raw = *places.at[i];
            r[i] = n.flags & SIGN_EXTENDS ? static_cast<u32>(static_cast<i8>(raw)) : raw;
        }
    });
}

// A value of several registers stands in rows behind one another; RZ is 0 in all of them.
struct Value {
    const u32* row;
    int step;
};

Value value_of(const Context& c, const Instruction& n, int which) {
    const Source& s = n.source[which];
    return {c.source(s), s.constant ? 0 : LANES};
}

void store(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    Places places;
    const i32 space = place(c, n, access, WRITE, places);
    count(c, access, space, false);
    const Value value = value_of(c, n, 2);
    if (n.width < 4) {
        each_lane(c.on, [&](int i) { std::memcpy(places.at[i], value.row + i, n.width); });
        return;
    }
    for (int w = 0; w < n.width / 4; w++)
        each_lane(c.on, [&](int i) {
            std::memcpy(places.at[i] + 4 * w, value.row + value.step * w + i, 4);
        });
}

// Several rows of 8 bytes from each of eight lanes' addresses: LDSM.
enum : i32 { TRANSPOSED = 1 };

void ldsm(Context& c, const Instruction& n) {
    if (!c.on) return;
    const int matrices = n.flags >> 4;
    Access all = addressed(c, n);
    u32 out[4][LANES];
    machine::Wavefronts cost{0, 0};
    for (int m = 0; m < matrices; m++) {
        // The eight lanes 8m to 8m + 7 have the addresses of this matrix's rows of 16 bytes.
        Access rows = all;
        rows.active = 0xFFu << 8 * m;
        rows.width = 16;
        machine::survey(rows);
        aligned(rows, 16);
        Places places;
        in_shared(c, rows, places);
        cost.spent += machine::fullest_bank(rows, rows.active);
        cost.ideal++;
        u16 held[8][8];
        for (int r = 0; r < 8; r++) std::memcpy(held[r], places.at[8 * m + r], 16);
        for (int i = 0; i < LANES; i++) {
            const int row = i / 4, column = 2 * (i % 4);
            out[m][i] = n.flags & TRANSPOSED
                            ? machine::pair(held[column][row], held[column + 1][row])
                            : machine::pair(held[row][column], held[row][column + 1]);
        }
    }
    count_shared(c, cost);
    for (int m = 0; m < matrices; m++)
        write(c, c.result(n, 0, m), [&](int i) { return out[m][i]; });
}

// An asynchronous copy is done at once: nobody may look before it is waited for. Where no lane
// copies, and zeros are all that is stored, no request is made. A sector of memory that lands in
// two of shared memory is fetched for both.
void copy(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access from = addressed(c, n), to = shared_target(c, n);
    const u32 copies = c.on & c.predicate(n, 0);
    Places source, target;
    aligned(to, n.width);
    in_shared(c, to, target);
    if (copies) {
        Access landing = to;
        from.active = landing.active = copies;
        machine::survey(from);
        machine::survey(landing);
        aligned(from, n.width);
        in_global(c, from, READ, source);
        count_global(c, std::max(machine::global_sectors(from), machine::global_sectors(landing)));
    }
    count_shared(c, wavefronts_of(to, false));
    each_lane(c.on, [&](int i) {
        if (copies >> i & 1)
            std::memcpy(target.at[i], source.at[i], n.width);
        else
            std::memset(target.at[i], 0, n.width);
    });
}

// --- atomics ------------------------------------------------------------------------------------

enum Operation : i32 { ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCHANGE, CAS, COUNT_UP, CAST };
enum Type : i32 { U32, S32, U64, S64, F32, F64, F16X2, BF16X2, F16, BF16, F32X2, F32X4 };

inline i32 operation_of(const Instruction& n) { return n.flags & 15; }
inline i32 type_of(const Instruction& n) { return n.flags >> 4 & 15; }

template <class T> T updated(i32 operation, T old, T value, T other) {
    switch (operation) {
        case ADD: return old + value;
        case COUNT_UP: return old + 1;
        case MIN: return std::min(old, value);
        case MAX: return std::max(old, value);
        case INC: return old >= value ? 0 : old + 1;
        case DEC: return old == 0 || old > value ? value : old - 1;
        case AND: return old & value;
        case OR: return old | value;
        case XOR: return old ^ value;
        case CAS:
        case CAST: return old == value ? other : old;
        default: return value;
    }
}

template <class T> u64 whole_number(i32 operation, u8* at, u64 value, u64 other) {
    T old;
    std::memcpy(&old, at, sizeof old);
    const T now = updated<T>(operation, old, static_cast<T>(value), static_cast<T>(other));
    std::memcpy(at, &now, sizeof now);
    return static_cast<std::make_unsigned_t<T>>(old);
}

template <class H> u32 sums_of_pair(u32 a, u32 b) {
    return machine::pair(machine::sum<H>(machine::low(a), machine::low(b)),
                         machine::sum<H>(machine::high(a), machine::high(b)));
}

template <class U, class F> u64 replaced(u8* at, F f) {
    U old;
    std::memcpy(&old, at, sizeof old);
    const U now = f(old);
    std::memcpy(at, &now, sizeof now);
    return old;
}

inline f32 plus(f32 a, f32 b) { return machine::flush(machine::flush(a) + machine::flush(b)); }

u64 applied(i32 type, i32 operation, u8* at, u64 value, u64 other) {
    switch (type) {
        case U32: return whole_number<u32>(operation, at, value, other);
        case S32: return whole_number<i32>(operation, at, value, other);
        case U64: return whole_number<u64>(operation, at, value, other);
        case S64: return whole_number<i64>(operation, at, value, other);
        case F64:
            return replaced<u64>(at, [&](u64 old) {
                return bits_of<u64>(bits_of<f64>(old) + bits_of<f64>(value));
            });
        case F16X2:
            return replaced<u32>(at, [&](u32 old) {
                return sums_of_pair<machine::F16>(old, static_cast<u32>(value));
            });
        case BF16X2:
            return replaced<u32>(at, [&](u32 old) {
                return sums_of_pair<machine::BF16>(old, static_cast<u32>(value));
            });
        default:
            return replaced<u32>(at, [&](u32 old) {
                return bits_of<u32>(plus(bits_of<f32>(old), bits_of<f32>(static_cast<u32>(value))));
            });
    }
}

// Of the lanes that store on condition, the first in each bank may; the others try again.
u32 first_in_each_bank(const Access& access) {
    u32 taken = 0, first = 0;
    each_lane(access.active, [&](int i) {
        const u32 bank = 1u << (access.address[i] / machine::WORD_BYTES % machine::BANKS);
        if (!(taken & bank)) first |= 1u << i;
        taken |= bank;
    });
    return first;
}

machine::Wavefronts shared_cost(const Access& access, i32 operation) {
    if (operation == CAST) return {2, 2};
    const machine::AtomicCost kind = operation == COUNT_UP ? machine::COUNTS_UP
                                     : operation == CAS    ? machine::COMPARES
                                                           : machine::ONE_BY_ONE;
    return machine::shared_atomic_wavefronts(access, kind);
}

enum : i32 { HAS_RESULT = 1 << 8, SAYS_SUCCESS = 1 << 9 };

// Sources: the address's two, then a value, then the one that a compare-and-swap stores.
void atomic(Context& c, const Instruction& n) {
    if (!c.on) return;
    Access access = addressed(c, n);
    const i32 operation = operation_of(n), type = type_of(n);
    const bool in_window = n.space == GENERIC && access.low >= SHARED_WINDOW;
    // Pairs of halves have no atomic in shared memory: the code goes on with a loop for them.
    if (n.flags & SAYS_SUCCESS) {
        c.set_predicate(n, 0, in_window ? 0 : c.on);
        if (in_window) return;
    }
    Places places;
    const i32 space = place(c, n, access, UPDATE, places);
    if (space == GLOBAL) {
        const machine::Collisions met = machine::collisions(access);
        const int at_once = machine::global_sectors(access);
        const int sectors = machine::global_atomic_sectors(access, met, at_once);
        count_global(c, sectors);
        c.counts.colliding[c.at] += sectors != at_once;
    } else if (space == SHARED) {
        count_shared(c, shared_cost(access, operation));
    }
    const Value value = value_of(c, n, 2), other = value_of(c, n, 3);
    const bool is_wide = type == U64 || type == S64 || type == F64;
    const auto number = [&](const Value& v, int i) {
        return is_wide ? static_cast<u64>(v.row[v.step + i]) << 32 | v.row[i] : u64(v.row[i]);
    };
    u32 *low = c.result(n), *high = c.result(n, 0, 1);
    if (type == F32X2 || type == F32X4) {
        for (int w = 0; w < n.width / 4; w++)
            each_lane(c.on, [&](int i) { applied(F32, ADD, places.at[i] + 4 * w, value.row[value.step * w + i], 0); });
        return;
    }
    const u32 trying = operation == CAST ? first_in_each_bank(access) : c.on;
    each_lane(c.on & ~trying, [&](int i) { low[i] = 0; });
    each_lane(trying, [&](int i) {
        const u64 first = number(value, i), second = number(other, i);
        const u64 old = applied(type, operation, places.at[i], first, second);
        if (!(n.flags & HAS_RESULT)) return;
        low[i] = operation == CAST ? old == first : static_cast<u32>(old);
        if (is_wide) high[i] = static_cast<u32>(old >> 32);
    });
}

// Whether generic addresses are in shared memory.
void qspc(Context& c, const Instruction& n) {
    const Access access = addressed(c, n);
    c.set_predicate(n, 0, lanes_where([&](int i) {
        return access.address[i] >= SHARED_WINDOW && access.address[i] < LOCAL_WINDOW;
    }));
}

// --- constants ----------------------------------------------------------------------------------

// From a bank at the sum of a register and an immediate; beyond a bank's end stands 0.
void ldc(Context& c, const Instruction& n) {
    const u32* base = c.source(n.source[0]);
    const u8* bank = c.launch->banks[n.space];
    const i64 size = c.launch->bank_sizes[n.space];
    const int words = std::max(1, n.width / 4), bytes = std::min(n.width, 4);
    u32 out[2][LANES] = {};
    for (int i = 0; i < LANES; i++) {
        for (int w = 0; w < words; w++) {
            const i64 at = static_cast<u32>(base[i] + static_cast<u32>(n.immediate)) + 4 * w;
            if (at + bytes <= size) std::memcpy(&out[w][i], bank + at, bytes);
            if ((n.flags & SIGN_EXTENDS) && bytes < 4) {
                const int off = 32 - 8 * bytes;
                out[w][i] = static_cast<u32>(static_cast<i32>(out[w][i] << off) >> off);
            }
        }
    }
    for (int w = 0; w < words; w++) write(c, c.result(n, 0, w), [&](int i) { return out[w][i]; });
}

}  // namespace

std::vector<Entry> memory_entries() {
    return {
        {"LOAD", load}, {"STORE", store}, {"LDSM", ldsm}, {"LDGSTS", copy}, {"ATOMIC", atomic},
        {"QSPC", qspc}, {"LDC", ldc},
    };
}

}  // namespace sass
