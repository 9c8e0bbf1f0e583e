// The data exchanged between Python and the machine that executes SASS.
//
// Python reads this file (`sass/layout.py`), so it is plain C: enums, structs, functions. The machine
// includes it in its namespace, with `i32` and the like for integers with that many bits.

#pragma once

static const int MAX_SOURCES = 4;

enum Space { GLOBAL, SHARED, LOCAL, GENERIC, MIXED };
enum Control {
    PLAIN, BRANCH, BRANCH_DIV, EXIT, CALL, RETURN, SET_BARRIER, WAIT_BARRIER, BREAK_BARRIER,
    WARP_SYNC, COLLECTIVE, END_COLLECTIVE, BLOCK_BARRIER, YIELD, BRANCH_INDEXED,
    WARP_SYNC_EXCLUSIVE, BRANCH_OF_ANY, PHASE_TEST, CLUSTER_WAIT, TAKE_REGISTERS,
    PRODUCTS_WAIT,
};
enum OfAddress { BASE_IS_WIDE = 1, OFFSET_IS_WIDE = 2 };       // `is_wide`
enum OfAtomic { HAS_RESULT = 1 << 8, SAYS_SUCCESS = 1 << 9 };  // `flags`

// A 32-bit operand is ((row & keep) ^ flip) + plus. The second half of a 64-bit one may be in another row.
// constant: whether the row is one of the launch's constants rather than one of the warp's registers.
typedef struct Source {
    i32 row, high;
    i32 constant;
    u32 keep, flip, plus;
    i32 half;  // which of two halves is used: 0 both, 1 the low one, 2 the high one, 3 both swapped; for an
               // address, the number of bits by which it is shifted; for an integer that is converted,
               // 4 plus the byte at which it begins
} Source;

typedef struct Instruction {
    i32 handler;
    i32 flags;  // the modifiers, encoded differently for each handler
    i32 guard, guard_inverted;
    i32 uniform;  // whether it acts for the warp as a whole
    i32 result[2];
    i32 result_predicate[2];
    i32 source_count;
    Source source[MAX_SOURCES];
    i32 source_predicate[3], source_inverted[3];
    i32 control;  // a Control: how the scheduler handles it
    i32 target;   // the instruction that a branch leads to
    i32 begins_function;  // whether a pointer may lead here
    i32 barrier;  // number of a convergence barrier
    i32 space, width, is_wide;  // of a memory access: a Space, bytes per lane, 64-bit addresses
    i64 immediate;
} Instruction;

// slack: bytes past the end that may be accessed as part of a word whose first bytes are the buffer's last.
typedef struct Buffer {
    i64 base, size;
    u8* data;
    i32 writable, slack;
    u8* filled;  // by byte: whether it has been written; null if that is not tracked
} Buffer;

// Functions of the driver, by the number that serves as their address here.
enum System { VPRINTF = 16, MALLOC, FREE, ASSERTFAIL, BULK_COPY };
// Prints for a lane of a block's warp, given the addresses of the format and of its arguments. Returns the number of
// arguments, or a negative number if too much was printed.
typedef i32 (*Print)(i64 block, i64 lane, u64 format, u64 arguments);

typedef struct Launch {
    const Instruction* instructions;
    const u32* constants;  // rows of 32
    const u8* const* banks;
    const i64* bank_sizes;
    const Buffer* buffers;
    i32 instruction_count, constant_rows, buffer_count, registers;
    i32 shared_bytes, local_bytes, shared_start, slice, turn;
    u32 grid[3], block[3];
    i64 budget;
    const void* textures;  // indexed by handle, as in engine/machine/interface.h
    i32 texture_count;
    const i32* kinds;   // by instruction: for an access the judge's Kind, for a MEMBAR the fence's scope
    const u16* traits;  // by instruction: the judge's Traits; null if races are not judged
    const i32* lines;   // by instruction: the number of its source line, or -1
    i32 follows_shared;  // whether all writes to shared memory are known to the judge
    const i32* meetings;  // by instruction: for a WARPSYNC the first vote or shuffle of the kind after it, or -1
    i32 global_grain, shared_grain;  // the narrowest words accessed, in bytes
    Print print;
    i32 heap;  // the buffer from which malloc allocates
    i32 has_copies;  // whether there are asynchronous copies or products of warpgroups
    u32 cluster[3];  // a cluster's extents in blocks; 1 in every direction without clusters
    i32 own_registers;  // of a thread at the beginning
} Launch;

// Counts by instruction.
typedef struct Counts {
    i64 *warps, *threads, *on;
    i64 *requests, *sectors, *shared_requests, *wavefronts, *wavefronts_ideal;
    i64* ideal_uncertain;  // requests whose ideal wavefronts no rule gives
    i64 *branches, *divergent, *colliding;
    i64 *mixed;  // requests whose lanes access several memories; nothing else is counted for them
    i64 *warps_again, *threads_again;  // what is issued again: scheduler/replays.h
    i64 *remote_requests, *remote_sectors;  // of another block's shared memory
    i64* remote_uncertain;  // requests to several blocks, not 4 bytes wide per lane
    i64 *bulk_copies, *bulk_sectors, *multicast_requests;  // of the bulk copy unit: memory/tensors/bulk_sectors.h
    i64* bulk_uncertain;  // copies whose sectors no rule gives
} Counts;

enum OfLogic { SIGN_OF_FIRST = 1 };  // `flags`: the first source is a register's sign; doubled for the second
enum OfSpace { OF_SHARED, OF_GLOBAL, OF_LOCAL, OF_CLUSTER };  // `flags` of a query for an address's space
enum OfRegister { DIFFERS_ALSO = 1 };  // `flags`: lanes that already differed still do
// `flags` of an arrival: the number of arrivals, and the meaning of the operand.
enum OfArrival {
    ONE = 1, GIVEN = 2,                       // arrivals
    EXPECTED = 4, COMPLETED = 8,              // the operand's bytes are expected, or have arrived
    BYTE = 16, LANDED = 128,                  // one byte is expected, or has arrived
    DROPS = 32, ELSEWHERE = 64,               // the mbarrier may be another block's
    TOGETHER = 256,  // does not end the phase; all lanes get the word before, with a mask of those at the mbarrier
};
enum OfCall { THROUGH_POINTER = 1 };  // `flags` of a RETURN: it is a call
enum OfPhase { WAITS = 1 };  // `flags`: lanes stay until a phase has ended
// `flags` of a copy by the bulk copy unit: the lowest three bits are a map's dimensions.
enum OfBulk {
    BY_PIXELS = 8, TO_MANY = 16, FROM_SHARED = 32, TO_SHARED = 64, REDUCTION = 128,  // the bits above: which
};
enum OfCopy { FILLS = 1 };  // `flags`: the address says how many bytes after those copied are zeros

enum OfFence { FENCE_OF_BLOCK, FENCE_OF_ALL };  // `kinds` of a MEMBAR
enum OfBulkWait { DONE_ALL, DONE_READING };      // `kinds` of a wait for groups of bulk copies

enum Outcome { DONE, PAUSED, FAULTY };
enum FaultKind {
    NO_FAULT, OUTSIDE, MISALIGNED, READ_ONLY, DEADLOCK, OVER_BUDGET, TRAP, BAD_TARGET, LEFT_CODE,
    NO_TEXTURE, OUTSIDE_SURFACE,
    BARRIER_OF_SOME,
    ASSERTED, PRINTED_TOO_MUCH,
    ACCUSED,  // by the judge; `address` is the accusation, a What
    NO_MBARRIER, NOT_COUNTED, POOL_EMPTY, ANOTHER_BLOCK, COPIED_BY_DRIVER,
};

typedef struct Verdict {
    i32 outcome, fault, instruction, thread;
    i64 block, address;
} Verdict;

#ifdef __cplusplus
extern "C" {
#endif

// The names of the definitions by number. Returns 0 after the last.
int sass_definition(int number, const char** name);

// The data that the arguments point to must outlive the run.
void* sass_begin(const Launch* launch, const Counts* counts);
void sass_run(void* machine, double seconds, Verdict* verdict);
// Copies the numbers that are part of a verdict. Returns how many there are.
int sass_details(void* machine, i64* out, int most);
// Copies the bytes at a generic address as the lane that last printed or failed sees them. Returns
// the number of bytes copied.
int sass_peek(void* machine, i64 address, void* out, int most);
void sass_end(void* machine);

#ifdef __cplusplus
}
#endif
