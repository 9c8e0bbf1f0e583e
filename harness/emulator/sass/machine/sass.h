// A machine that executes SASS warp by warp: the state of its warps, blocks and clusters.
//
// A register is a row of 32 lanes of 32 bits; a uniform register is a row whose lanes are equal, so that an instruction
// and its uniform form share one definition. Predicates are masks of lanes.

#pragma once

#include <unordered_map>
#include <vector>

#include "arithmetic/floats.h"
#include "arithmetic/halves.h"
#include "machine.h"
#include "memory/bank_and_sector_rules.h"

namespace sass {

using machine::bits_of;
using machine::canonical;
using machine::each_lane;
using machine::BLOCK_BARRIERS;
using machine::EVERYBODY;
using machine::f32;
using machine::f64;
using machine::i16;
using machine::i32;
using machine::i64;
using machine::i8;
using machine::LANES;
using machine::u16;
using machine::u32;
using machine::u64;
using machine::u8;

#include "interface.h"

constexpr int PREDICATES = 16;  // P0 to P6 and PT, UP0 to UP6 and UPT
constexpr int ALWAYS = 7;       // the number of PT
constexpr int BARRIERS = 16;  // a warp's convergence barriers
constexpr int NO_BARRIER = -1;
constexpr int WARPS_OF_GROUP = 4;  // that compute a product together

// --- state --------------------------------------------------------------------------------------

struct Fault {
    FaultKind kind;
    int lane;
    i64 address;
};

enum State : i32 {
    READY, AT_BARRIER, AT_SYNC, AT_BLOCK_BARRIER, AT_MBARRIER, AT_CLUSTER_BARRIER, AT_POOL, AT_PRODUCTS,
};

// Lanes of a warp that run together.
struct Part {
    u32 lanes;
    i32 at;
    State state;
    u32 wanted;    // the lanes that it waits for
    i32 number;    // of the warp's or the block's barrier
    bool yielded;  // it has let others run first, and has not run since
    i32 expected;  // threads that have to arrive there; 0 for all threads of the block
    bool straight;  // a branch has sent it directly to a convergence barrier
    bool first;     // no lane waited there when it arrived
};

// What must be known about a convergence barrier to decide what is issued again (scheduler/replays.h).
struct Again {
    u32 unaware;          // lanes that have not noticed others leaving the barrier
    u32 unaware_of_exit;  // the same for others leaving the kernel
    bool straight;        // lanes wait there that a branch has sent there, and no others have arrived
    bool divided;         // another branch has divided other lanes since then
    u32 others;           // lanes that continued when some were last sent there, and lanes that joined them
    u32 late;             // lanes missing at the last branch, which count again if they arrive
    i32 at;               // that branch
    i32 sent;             // the BSYNC to which it has sent further lanes; 0 for none
};

// One lane's asynchronous copy to shared memory: its bytes land when the lane waits for its group.
struct UnderWay {
    int lane, width;
    i32 at;      // the instruction
    i64 group;   // the number of groups that the lane had committed before
    i64 target;
    u32 number;  // the judge's number for it
    u8 data[16];
};

struct Warp {
    u32* rows;
    u32 predicate[PREDICATES];
    u32 barrier[BARRIERS][LANES];
    u32 collective_target[LANES];
    u32 barrier_result[LANES];  // of the last block barrier with a reduction that a lane waited at
    u32 threads, exited;
    Again again[BARRIERS];
    int number;
    int turn;  // the part that runs next
    std::vector<Part> parts;
    std::vector<UnderWay> copies;
    i64 committed[LANES];  // groups of copies
    u32 tested[LANES], phase[LANES];  // the mbarrier that a lane waits for, and its phase bit
    u32 arrived;                      // lanes that have arrived at the cluster's barrier and not yet waited
    u32 arrived_in[LANES];            // the phase in which they arrived
    i32 registers;                    // of each lane
    i64 products;                     // groups of warpgroup products issued so far
    bool follows;                     // whether registers have values that nothing has written
};

// What has been reported to the current phase of an mbarrier, for a message.
struct PhaseBytes {
    i64 expected = 0, came = 0, ended = 0;
    i32 expecting = -1, coming = -1;  // instructions
};

struct Block;

// Blocks that share their memory and meet at a barrier of their own.
struct Cluster {
    std::vector<Block*> blocks;  // by rank; null for one that has left
    u32 completed = 0;           // phases of the barrier
    i64 arrived = 0, alive = 0;  // lanes
    i64 ended = 0;               // phases of all its mbarriers
    int given_up = 0;            // how often its waiting lanes were told, without progress, that no phase has ended
    i64 ended_then = -1;
};

struct Block {
    i64 number;
    u32 index[3];
    std::vector<Warp> warps;
    std::vector<u32> rows;
    std::vector<u8> shared, local;
    int alive;  // threads that have not exited
    int next_warp;
    u32 rank;   // in the block's cluster
    i64 first;  // number of the cluster's first block, counted cluster by cluster
    Cluster* cluster;
    std::unordered_map<u32, PhaseBytes> phases;  // by the address of their mbarrier
    i32 pool;    // registers that warps have released, per lane
    bool looked;  // whether mbarriers may have been initialised by stores: SYNCS.CCTL.IVALL
    bool idle;   // none of its warps can continue by itself
};

class Judge;

struct Context {
    const Launch* launch;
    Counts counts;
    Block* block;
    Warp* warp;
    u32* rows;
    const u32* constants;
    machine::Pattern* patterns;  // an instruction's last access
    u32 active;  // lanes of the part
    u32 on;      // lanes that act: those whose guard is true, or all for a warp-wide instruction
    u32 guarded;  // lanes whose guard is true
    bool full;
    alignas(64) u32 mask[LANES];  // all ones for a lane that acts
    i32 at;
    Judge* judge;  // or null
    i64 spent;     // thread instructions of the launch so far, which is also the clock
    int lane;      // the lane that called the driver last
    std::vector<i64> details;  // numbers that are part of a fault

    void act(u32 lanes) {
        if (lanes == on) return;
        on = lanes;
        full = lanes == EVERYBODY;
        for (int i = 0; i < LANES; i++) mask[i] = -(lanes >> i & 1);
    }
    const u32* source(const Source& s) const { return (s.constant ? constants : rows) + s.row; }
    const u32* source_high(const Source& s) const {
        return (s.constant ? constants : rows) + s.high;
    }
    u32* result(const Instruction& n, int which = 0, int word = 0) const {
        return rows + n.result[which] + LANES * word;
    }
    u32 predicate(const Instruction& n, int which) const {
        return warp->predicate[n.source_predicate[which]] ^ -static_cast<u32>(n.source_inverted[which]);
    }
    // The lanes whose guard and second predicate are both true. The other lanes do not count as
    // predicated on.
    u32 both_predicates(const Instruction& n, u32 guarded) const {
        const u32 both = guarded & predicate(n, 0);
        counts.on[at] -= __builtin_popcount(guarded & ~both);
        return both;
    }
    void set_predicate(const Instruction& n, int which, u32 lanes) {
        const i32 number = n.result_predicate[which];
        if ((number & ALWAYS) == ALWAYS) return;
        u32& held = warp->predicate[number];
        held = (held & ~on) | (lanes & on);
    }
};

using Handler = void (*)(Context&, const Instruction&);

struct Entry {
    const char* name;
    Handler handler;
};

std::vector<Entry> integer_entries();
std::vector<Entry> discard_entries();
std::vector<Entry> bit_entries();
std::vector<Entry> float_entries();
std::vector<Entry> half_entries();
std::vector<Entry> conversion_entries();
std::vector<Entry> memory_entries();
std::vector<Entry> atomic_entries();
std::vector<Entry> system_entries();
std::vector<Entry> texture_entries();
std::vector<Entry> warp_entries();
std::vector<Entry> matrix_entries();
std::vector<Entry> warpgroup_entries();
std::vector<Entry> mbarrier_entries();
std::vector<Entry> cluster_entries();
std::vector<Entry> bulk_entries();

// Copies bytes at a generic address, as the lane `c.lane` sees them. Returns the number of bytes copied.
int peek(const Context& c, i64 address, u8* out, int most);

}  // namespace sass
