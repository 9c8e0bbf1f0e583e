// The workers that run a launch's thread blocks, one for each job.

#pragma once

#include <atomic>
#include <chrono>

#include "checks.h"
#include "fast_run/in_step.h"
#include "memory/stamp_pages.h"
#include "memory/undo.h"

namespace machine {

using Clock = std::chrono::steady_clock;

struct Shared {  // shared by the workers of a launch
    explicit Shared(const Launch& of)
        : launch(of), blocks(u64(of.grid[0]) * of.grid[1] * of.grid[2]), stamp_pages(of) {}

    const Launch& launch;
    const u64 blocks;
    StampPages stamp_pages;
    Undo undo;
    std::atomic<u64> next{0};
    std::atomic<bool> stop{false};
    std::atomic<i64> ticks{0};
};

class Worker {
   public:
    Worker(Shared& shared, const Counts& counts);

    // Runs blocks until there are no more, the time is up, or something suspicious is found.
    Outcome run(Clock::time_point deadline);

    Verdict verdict{};

   private:
    void begin_block();
    bool run_block();
    bool run_in_step();
    bool waits() const;
    void release();
    void reduce(const Block& barrier);
    bool run_warp(Warp& warp);
    bool may_go_on();
    i64 tell_ticks();

    static constexpr int PATIENCE = 4096;

    Shared& shared_;
    const Launch& launch_;
    const Handler* const handlers_ = handlers().data();
    Context c_;
    std::vector<Warp> warps_;
    Checks checks_{warps_, launch_.in_step != 0};
    std::unique_ptr<InStep> in_step_;  // null if the warps of a block run one after another
    std::vector<Pattern> patterns_ = std::vector<Pattern>(launch_.op_count);
    Held<u8> registers_, shared_memory_, local_;
    Held<u64> shared_written_, shared_read_;
    Held<u32> local_written_;
    u64 block_ = 0;
    size_t at_ = 0;  // the warp that is running
    bool in_block_ = false;
    i32 current_ = 0;
    i64 ticks_ = 0, told_ = 0;
    int patience_ = PATIENCE;
    Outcome outcome_ = PAUSED;
    Clock::time_point deadline_;
};

}  // namespace machine
