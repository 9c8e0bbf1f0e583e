// A chunk's memory instructions, which are judged before they move any data.

#pragma once

#include <set>

#include "blocks.h"
#include "judge/asynchronous/waits.h"
#include "judge/ordering/races.h"
#include "memory/reductions.h"
#include "memory/tensors/tensor_map.h"
#include "judge/unwritten/unwritten.h"

namespace machine {

class Accesses {
   public:
    Accesses(const Launch& launch, const Judged& judged, Blocks& blocks, Races& races,
             Uninitialised& uninitialised);

    void start();

    // Executes a load, a store or an atomic.
    void execute(const Op& op, Verb verb, const Selection& lanes);
    void copy_struct(const Op& op, const Selection& lanes);
    // Leaves a line of global memory undefined, and unwritten.
    void discard(const Op& op, const Selection& lanes);

    // `cp.async`: the source is read when the copy is issued, and the bytes are written when a thread waits for
    // them. Groups are counted separately for each lane.
    void issue_copy(const Op& op, const Selection& lanes);
    void commit_copies(const Selection& lanes);
    void wait_for_copies(const Op& op, const Selection& lanes);
    // After this, the end of an mbarrier's phase signals that the lanes' copies are done.
    void hand_copies_to_mbarrier(const Op& op, const Selection& lanes);

    // Bulk copies between global and shared memory. The bytes move when a copy is issued.
    void copy_bulk(const Op& op, const Selection& lanes);
    void copy_tensor(const Op& op, const Selection& lanes);
    // The arrivals of a copy to several blocks of the cluster at the mbarrier of each.
    void arrive_in_many(const Op& op, const Selection& lanes);
    void commit_bulk_copies(const Selection& lanes);
    void wait_for_bulk_copies(const Op& op, const Selection& lanes);

    // A warpgroup's product: its operand in shared memory counts as being read from issue until the
    // warp has waited for the product's group; the emulator reads the operand's words at once.
    void read_factor(const Op& op, const Selection& lanes);
    void take_words(const Op& op, const Selection& lanes);
    void commit_products(const Selection& lanes);
    void wait_for_products(const Op& op, const Selection& lanes);

    // Resolves an address in a window of the cluster's shared memory to its block and the address there.
    void into_window(i32 site, Touch& touch) const;
    // A block's last threads have left: no thread may touch its shared memory any more, and the block must know
    // of every access so far.
    void leave(int block);

    // What the mbarrier that a lane tested last waits for: numbers for a message, or none if the lane has
    // tested no mbarrier.
    std::vector<i64> waited_for(int lane);
    // The phases that threads waited for at mbarriers, if the launch requests it.
    std::vector<i64> waits() const { return waits_.rows(); }

   private:
    static constexpr int MOST_RANKS = 16;  // blocks of a cluster that a mask can name

    struct UnderWay {
        int warp, lane;
        i64 target, group;
        u8 data[16];
        u32 number = 0;  // of its flight; the rest is used only with checks
        Ranges to, from;
        Stamps* source = nullptr;
    };
    struct Copy {
        i32 site;
        int width;
        std::vector<UnderWay> lanes;
    };
    struct Group {  // a lane's bulk copy out of shared memory
        i32 site;
        int lane;
        i64 group;
        u32 reading, writing;  // flights
        Ranges from, to;
        Stamps* target = nullptr;
    };

    struct Product {  // a factor that a product is reading
        i32 site;
        i64 group;
        u32 number;  // of its flight
        Ranges from;
    };
    struct Products {  // of a warp
        i64 committed = 0;
        bool unwritten = false;  // whether the factor that was read last has unwritten words
        std::vector<Product> reading;
    };

    Touches addressed(const Op& op, const Selection& lanes);
    void in_one_space(const Op& op, Verb verb, i32 space, Touches touches);
    void in_block_memory(const Op& op, Request& request);
    void in_buffers(const Op& op, Verb verb, Touches touches, int word, int count);
    void of_buffer(const Op* op, Request& request);
    void load_bytes(i32 site, const Touches& touches, int width, const std::vector<u8*>& targets);
    void bulk(i32 site, const Request& from, const Request& to, const std::vector<u8>& bytes,
              const BulkReduction* reduction);
    TensorMap tensor_map(const Op& op, i64 where, int warp, int lane);
    void check_box(const Op& op, const TensorMap& map, i64 where, Verb verb, int lane);
    void in_one_buffer(Request& request, i64 address);
    void take_off(Copy& copy, const std::vector<i64>& sources, const std::vector<int>& filled);
    template <class Lands>
    void land(const Selection& lanes, Lands lands);
    void count_landing(const Copy& copy);
    void place_units(Request& request, bool outside);
    Touch mbarrier_of(i32 site, i64 address, const Touch& target) const;
    void report_to_mbarrier(i32 site, const Touch& mbarrier, const Request& from, const Request& to);
    void join_group(i32 site, const Request& from, const Request& to);
    Ranges ranges_of(const Request& request);
    Ranges range_of(int memory, int block, i64 address, i64 bytes, bool written);
    std::vector<int> targets_of(const Op& op, int masks, int warp, int i) const;
    void arrive(const Op& op, const Request& request);
    void note_waits(const Op& op, const Request& request);
    void check_block_memory(const Request& request);
    void check_buffers(const Touches& touches, i32 site, int width, Verb verb);
    void observe(const Request& request);
    void count_request(i32 site, const Touches& touches, int width);
    i32 space_in(i64 address) const;
    void find_mixed(const Op& op, const Touches& touches);
    void of_others(const Op& op, const Request& request);
    void handle(const Op& op, int warp, u32 lanes, int block = -1);
    void handle_uncounted(const Op& op, int warp, u32 lanes, int block = -1);
    void move(const Op& op, const Request& request);
    void move_all(const Op& op, const Request& request);
    void swap(const Op& op, const Request& request);
    u64 in_row(const Op& op, i32 row, const Touch& touch) const;
    std::vector<u64> given(const Op& op, const Request& request) const;
    void move_scattered(const Op& op, const Touches& touches, int width);

    Stamps& stamps_of(int memory);
    u8* place(const Request& request, const Touch& touch);
    std::vector<u8> values(const Op& op, const Request& request) const;
    std::vector<u8> unchanged(const Request& request, const std::vector<u8>& values);
    int buffer_of(i64 address, int width) const;

    const Launch& launch_;
    const Judged& judged_;
    Blocks& blocks_;
    const Geometry& geometry_;
    Races& races_;
    Uninitialised& uninitialised_;
    Unwritten unwritten_;
    Waits waits_;
    std::map<int, Stamps> stamps_;  // by memory
    std::vector<Copy> copies_;
    std::vector<i64> committed_, committed_bulk_;  // groups, by lane
    std::vector<Group> bulk_groups_;
    std::vector<Products> products_;  // by warp
    bool has_copies_ = false;
    std::vector<i64> uncounted_;
    Visits visits_;
    std::set<int> mixed_;  // warps whose lanes access several memories in this instruction
};

}  // namespace machine
