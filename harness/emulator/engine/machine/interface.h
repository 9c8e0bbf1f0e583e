// The data exchanged between Python and the machine.
//
// Python reads this file (`engine/layout.py`), so it is plain C: enums, structs, functions. The machine
// includes it in its namespace, with `i32` and the like for integers with that many bits.

#pragma once

static const int LANES = 32, MAX_RESULTS = 8, MAX_SOURCES = 12, BLOCK_BARRIERS = 16;

enum Space { GLOBAL, SHARED, LOCAL, GENERIC, UNCOUNTED };
enum Kind { PLAIN, VOLATILE, ATOMIC, BLOCK_ATOMIC };
enum Ending { JUMP, BRANCH, SWITCH, BARRIER, EXIT, TRAP };
enum Reduction { NO_REDUCTION, POPC, AND, OR };
// How an atomic is served. COMBINED: one lane accesses memory for all lanes at its address. VECTOR: plus the
// number of elements.
enum AtomicCost { ONE_BY_ONE, COUNTS_UP, COMPARES, COMBINED, NOT_COUNTED, VECTOR };

// One operation. Results and sources are byte offsets into a warp's registers.
typedef struct Op {
    i32 handler;
    i32 site;
    i32 width;  // of a memory access: bytes per word
    i32 count;  // and number of words
    i32 space;
    i32 kind;
    i32 cost;       // of an atomic: the rule for its wavefronts; of a load: whether it is counted
    i32 wide_base;  // whether the address register has 64 bits
    i64 immediate;
    i32 result[MAX_RESULTS];
    i32 source[MAX_SOURCES];
} Op;

typedef struct Block {
    i32 first, last;  // operations
    i32 ending;
    i32 target, otherwise;
    i32 predicate;  // byte offset of a predicate, or of a switch's index
    i32 taken_if;
    i32 charge;  // instructions charged to the budget
    i32 reduction, result;
    i32 number, count;          // rows of a barrier's number and of its thread count, or -1 for all threads
    i32 arrives;                // whether threads only arrive at a barrier, without waiting
    i32 of_cluster;             // whether it is a wait at the cluster's barrier
    i32 of_program;             // whether the program names the barrier's number itself
    i32 line;                   // of a barrier in the PTX, or -1 if threads may meet at different ones
    i32 first_target, targets;  // a switch's targets, in `switch_targets`
    i32 pointer;                // row of the pointer that a switch calls through, or -1
    i32 site, first_site;       // of the ending, and the one by which a message names the block
} Block;

typedef struct Buffer {
    i64 base;
    i64 size;
    u8* data;
    u8* sectors_read;
    u8* sectors_written;
    i32 writable;
    i32 watched;   // whether the kernel may write it
    u64* written;  // stamps, one for each granule; set by the machine
    u64* read;
    u8* unfolded;  // by page of stamps: whether it is not folded
    u8* saved;  // by page: whether its contents from before the launch have been saved
    u8* filled;  // by byte, 0 if it is unwritten; null if the buffer was initialised before the launch
} Buffer;

enum TextureKind { LINE, PLANE, VOLUME, LAYERED_LINE, LAYERED_PLANE, CUBE };
enum TexelFormat {
    TEXEL_U8, TEXEL_S8, TEXEL_U16, TEXEL_S16, TEXEL_U32, TEXEL_S32, TEXEL_F16, TEXEL_F32
};
enum AddressMode { CLAMP, BORDER, WRAP, MIRROR };

// The texture or surface that a handle among the arguments refers to.
typedef struct Texture {
    const u8* data;  // a texel's channels, texel by texel, row by row, layer by layer
    i32 kind;        // a TextureKind
    i32 width, height, depth;
    i32 channels, format;  // a TexelFormat
    i32 address[3];        // an AddressMode for each axis
    i32 linear, normalized, as_fractions, is_surface;
} Texture;

// A loop that may wait, by the basic block at its head, with the rows that show whether an
// iteration changed anything; a row of 8-byte lanes is marked by its lowest bit.
typedef struct Head {
    i32 block, first, count;
} Head;

typedef struct Meeting {  // a basic block at which lanes of a warp meet, and the row of their mask
    i32 block, mask;
    i32 site;  // of what gives them a value that depends on the others; -1 if nothing does
    i32 kind;  // lanes at meetings of one kind meet each other; -1 if all must execute the same instruction
} Meeting;

typedef struct Launch {
    const Op* ops;
    const Block* blocks;
    const i32* switch_targets;
    Buffer* buffers;
    const u8* constants;          // 8 bytes each, for one lane
    const i32* constant_offsets;  // offsets of their rows in a warp's registers
    const i32* special_offsets;   // by number, -1 if the program does not read it
    i32 op_count, block_count, site_count, buffer_count, constant_count;
    i32 register_bytes;  // of a warp
    i32 zeroed_bytes;    // the first registers, which a thread may read before it writes them
    u32 grid[3], block[3];
    u32 cluster[3];       // blocks of a thread block cluster; the grid is a multiple of it
    i32 in_clusters;      // whether clusters have several blocks, or the program reads a block's place in one
    i32 shared_bytes, shared_static, local_bytes;
    i32 global_grain, shared_grain, local_grain;  // the narrowest words, for the judge
    i32 global_granule, shared_granule;           // units that no access splits, one stamp each in the fast run
    i32 checks;
    i32 jobs;
    i32 global_one_width, shared_one_width;  // whether all stores there have the same width
    i64 budget;
    const Texture* textures;
    i32 texture_count;
    i32 in_step;  // whether the fast run executes the warps of a block together, as threads wait at mbarriers
    const Head* heads;
    const i32* watched;
    const Meeting* meetings;
    i32 head_count, meeting_count;
    i32 clocks;  // whether the program reads a clock
} Launch;

// Counts of a launch, by site or by basic block. All counts of one kind are stored together.
typedef struct Counts {
    i64 *requests, *sectors, *colliding;
    i64 *shared_requests, *wavefronts, *wavefronts_ideal;
    i64 *atomic_lanes, *atomic_addresses, *atomic_most_lanes;
    i64 *mixed;  // requests whose lanes access several memories; nothing else is counted for them
    i64 *bulk_copies, *bulk_sectors, *multicast_requests, *bulk_uncertain;  // memory/tensors/bulk_sectors.h
    i64 *block_warps, *block_lanes, *taken_lanes, *diverged_warps;
} Counts;

// How a run ended, or why it stopped.
enum Outcome { DONE, PAUSED, SUSPECT, OVER_BUDGET };

typedef struct Verdict {
    i32 outcome;
    i32 reason;  // a Reason
    i32 site;
    i32 block_number;  // a basic block
    i64 block;         // a thread block
    i32 thread;
    i32 padding;
    i64 ticks;
} Verdict;

// --- the judge -----------------------------------------------------------------------------------

// What is known about an instruction, by site.
enum Trait { IS_FENCE = 1, REACHES_ALL = 2, IS_LOAD = 4, IS_STORE = 8, SPECULATIVE = 16,
             OF_MBARRIER = 32, IS_CAS = 64, STEERS = 128, VARIES = 256, FILLS_CLUSTER = 512 };

// By byte of a buffer: 1 + the site that did this first, or 0.
typedef struct Observed {
    i32 *read, *written, *read_before_write;
} Observed;

typedef struct UnsetRegister {
    i32 slot, row;
} UnsetRegister;

// Prints for a lane, given its thread block and lane in the chunk, and the addresses of the format and of its
// arguments. Returns the number of arguments, or a negative number if too much was printed.
typedef i32 (*Print)(i64 block, i64 lane, u64 format, u64 arguments);

typedef struct Judged {
    const u16* traits;
    const UnsetRegister* unset;
    const Observed* observed;  // by buffer, or null
    // Used to report what threads waited for at mbarriers: for each site, the first site in the
    // same line with the same opcode; or null.
    const i32* lines_of_waits;
    Print print;
    i32 unset_count;
    i32 chunk_blocks;  // thread blocks that execute together
    i32 schedule;      // the order of their warps, by number (`schedule.h`); 0 is the usual one
    i32 stack_end;     // of local memory
    i32 zeroed_at, zeroed_bytes;  // the part of shared memory that the system clears for itself
} Judged;

// Memories by number; buffers start at 0.
enum Memory { SHARED_MEMORY = -1, LOCAL_MEMORY = -2 };
enum Verb { READ, WRITE, UPDATE };
enum Hazard {
    READ_AFTER_WRITE, WRITE_AFTER_WRITE, WRITE_AFTER_READ, ATOMIC_AFTER_WRITE, ATOMIC_AFTER_ATOMIC,
};

// Unordered accesses that are accepted: a write that changes nothing and a read, or volatile accesses to a flag.
enum Unordered { CHANGES_NOTHING, VOLATILE_FLAG };

// The kinds of faults. `fault_messages/` describes the details of each.
enum What {
    OUT_OF_BLOCK_MEMORY, MISALIGNED_IN_BLOCK_MEMORY, OUT_OF_BUFFERS, MISALIGNED_IN_BUFFER,
    WRITE_TO_READ_ONLY, RACE_BETWEEN, RACE_AT_ONCE, NEVER_WRITTEN, UNSET, ABSENT_LANE, LANE_MISSED,
    LANE_NOT_NAMED, LANE_ELSEWHERE, BARRIERS_APART, BARRIER_LEFT, BARRIER_STUCK, LOOP_STUCK, NO_TARGET, TRAPPED,
    ASSERTED, STACK_USED_UP, PRINTED_TOO_MUCH, NOT_WHOLE_WARP, MISALIGNED_MATRIX_ROW,
    TOO_MANY_ARRIVALS, COPIED_IN_PART, NOT_A_TEXTURE, BEYOND_SURFACE, COPY_UNDER_WAY,
    NO_PROXY_FENCE, NO_SUCH_BLOCK, BLOCK_HAS_LEFT, BLOCK_MAY_LEAVE, ARRIVED_TWICE, NOT_ARRIVED,
    NOT_A_TENSOR_MAP, OTHER_TENSOR_MAP, NO_REDUCTION_OF_TYPE, NO_SUCH_BOX, UNDEFINED_METADATA, NO_SUCH_BARRIER, BARRIERS_OF_A_WARP,
    PRODUCT_NOT_AWAITED, PRODUCT_NOT_FENCED, REGISTERS_USED_UP, NOT_A_COUNT,
    OTHER_SWIZZLE, HALF_OF_ROWS, MBARRIER_ELSEWHERE, ARRIVAL_ENDS_PHASE,
};

// The destination of a bulk copy, in its immediate: 0 for global memory, 1 for the shared memory at
// its address, or as follows.
enum Target { IN_MANY_BLOCKS = 2, BETWEEN_BLOCKS = 3 };

// --- functions -----------------------------------------------------------------------------------

#ifdef __cplusplus
extern "C" {
#endif

// The names of operations and of special registers by number. Return 0 after the last.
int machine_operation(int number, const char** name);
int machine_special(int number, const char** name);

// The fast run. Each job has its own counts, which begin `apart` words after those of the job before. The data that
// the arguments point to must outlive the run.
void* machine_begin(const Launch* launch, i64* counts, int apart);
void machine_run(void* run, double seconds, Verdict* verdict);
int machine_restore(void* run);  // restores buffers to their contents before the launch; returns 0 on failure
void machine_end(void* run);

// The judge's run.
void* judge_begin(const Launch* launch, const Judged* judged, i64* counts);
void judge_run(void* judge, double seconds, Verdict* verdict);
// Copies the numbers that are part of a verdict. Returns how many there are.
int judge_details(void* judge, i64* out, int most);
// The unordered accesses that were accepted, four numbers each: an Unordered, two sites and a count.
int judge_let_pass(void* judge, i64* out, int most);
// The phases that threads waited for at mbarriers, if requested (`waits.h`).
int judge_waits(void* judge, i64* out, int most);
// Copies up to `most` bytes at a generic address as a lane sees them. Returns the number copied.
int judge_peek(void* judge, int lane, i64 address, void* out, int most);
void judge_end(void* judge);

#ifdef __cplusplus
}
#endif
