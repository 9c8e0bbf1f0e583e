// A launch: its buffers, the workers that share its thread blocks, and the functions that Python calls.

#include "machine.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "registers.h"
#include "fast_run/worker.h"

namespace machine {

const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = [] {
        std::vector<Entry> out;
        for (const auto& table :
             {integer_entries(), float_entries(), rounding_entries(), conversion_entries(),
              half_entries(), fp8_entries(), video_entries(), matrix_entries(), warp_entries(),
              memory_entries(), mbarrier_entries(), copy_entries(), texture_entries(), system_entries(),
              cluster_entries()})
            out.insert(out.end(), table.begin(), table.end());
        return out;
    }();
    return all;
}

const std::vector<Handler>& handlers() {
    static const std::vector<Handler> all = [] {
        std::vector<Handler> out;
        for (const Entry& entry : entries()) out.push_back(entry.handler);
        return out;
    }();
    return all;
}

namespace {

class Run {
   public:
    Run(const Launch& launch, i64* counts, int apart) : launch_(launch), shared_(launch_) {
        for (int n = 0; n < launch_.buffer_count; n++) {
            Buffer& buffer = launch_.buffers[n];
            saved_.push_back(zeros<u8>((buffer.size >> Undo::PAGE_SHIFT) + 1));
            buffer.saved = saved_.back().get();
            if (!launch_.checks || !buffer.watched) continue;
            shared_.stamp_pages.add(buffer, buffer.size / launch_.global_granule + 1);
        }
        for (int job = 0; job < launch_.jobs; job++)
            workers_.push_back(
                std::make_unique<Worker>(shared_, counts_from(counts + i64(job) * apart, launch_)));
    }

    Verdict run(double seconds) {
        const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(seconds));
        std::vector<Outcome> outcomes(workers_.size());
        std::vector<std::thread> threads;
        for (size_t n = 1; n < workers_.size(); n++)
            threads.emplace_back([&, n] { outcomes[n] = workers_[n]->run(deadline); });
        outcomes[0] = workers_[0]->run(deadline);
        for (std::thread& thread : threads) thread.join();
        for (const Outcome wanted : {SUSPECT, OVER_BUDGET})
            for (size_t n = 0; n < workers_.size(); n++)
                if (outcomes[n] == wanted) return workers_[n]->verdict;
        Verdict verdict{};
        const bool paused = std::count(outcomes.begin(), outcomes.end(), PAUSED) > 0;
        verdict.outcome = paused ? PAUSED : DONE;
        verdict.ticks = shared_.ticks;
        return verdict;
    }

    bool restore() { return shared_.undo.restore(); }

   private:
    Launch launch_;
    Shared shared_;
    std::vector<Held<u8>> saved_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace
}  // namespace machine

extern "C" {

int machine_operation(int number, const char** name) {
    const auto& all = machine::entries();
    if (number < 0 || number >= static_cast<int>(all.size())) return 0;
    *name = all[number].name;
    return 1;
}

int machine_special(int number, const char** name) {
    if (number < 0 || number >= machine::SPECIAL_COUNT) return 0;
    *name = machine::SPECIALS[number];
    return 1;
}

void* machine_begin(const machine::Launch* launch, machine::i64* counts, int apart) {
    return new machine::Run(*launch, counts, apart);
}

void machine_run(void* run, double seconds, machine::Verdict* verdict) {
    *verdict = static_cast<machine::Run*>(run)->run(seconds);
}

int machine_restore(void* run) { return static_cast<machine::Run*>(run)->restore(); }

void machine_end(void* run) { delete static_cast<machine::Run*>(run); }
}
