// The thread blocks of a chunk: their warps, registers and memories.

#pragma once

#include "chunk.h"
#include "memory/undo.h"
#include "registers.h"

namespace machine {

class Blocks {
   public:
    Blocks(const Launch& launch, const Counts& counts, int most_blocks)
        : launch_(launch), patterns_(launch.op_count) {
        const int threads = static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]);
        geometry = {most_blocks, threads, (threads + LANES - 1) / LANES,
                    static_cast<int>(blocks_of_cluster(launch)), &launch};
        const size_t stride = (launch.register_bytes + 63) / 64 * 64;
        registers_ = zeros<u8>(stride * geometry.all_warps() + 64);
        u8* base =
            registers_.get() + (64 - reinterpret_cast<uintptr_t>(registers_.get()) % 64) % 64;
        shared_stride = (launch.shared_bytes + 15) / 16 * 16;
        shared_ = zeros<u8>(static_cast<size_t>(shared_stride) * most_blocks + 16);
        local_ = zeros<u8>(static_cast<size_t>(launch.local_bytes) * geometry.all_lanes() + 16);
        warps.resize(geometry.all_warps());
        for (int w = 0; w < geometry.all_warps(); w++) {
            warps[w].registers = base + stride * w;
            warps[w].number = w % geometry.warps;
            warps[w].threads = geometry.lanes_of(w);
            fill(launch, warps[w], threads);
        }
        c = Context{};
        c.launch = &launch, c.counts = counts, c.patterns = patterns_.data(), c.undo = &undo_;
        c.judged = true;
    }

    Context c;
    Geometry geometry;
    std::vector<Warp> warps;
    int shared_stride;
    u64 first_block = 0;
    Mask exited;  // lanes, by warp

    // Begins new blocks. Memory is filled with 0xFF, so that uninitialised data does not look
    // correct by accident.
    void start(u64 first, int count) {
        first_block = first;
        geometry.blocks = count;
        std::memset(shared_.get(), 0xFF, static_cast<size_t>(shared_stride) * count);
        std::memset(local_.get(), 0xFF,
                    static_cast<size_t>(launch_.local_bytes) * geometry.all_lanes());
        for (int w = 0; w < geometry.all_warps(); w++)
            begin_block(launch_, warps[w], first + w / geometry.warps);
    }

    // Selects the lanes on which operations work from now on.
    void enter(int warp, u32 lanes) {
        const int block = warp / geometry.warps;
        c.warp = &warps[warp];
        c.registers = warps[warp].registers;
        c.block = first_block + block;
        c.shared = shared_of(block);
        c.local = local_.get() + static_cast<i64>(block) * geometry.threads * launch_.local_bytes;
        c.activate(lanes);
    }

    // Whether all threads of a block have left the kernel.
    bool has_left(int block) const {
        for (int w = block * geometry.warps; w < (block + 1) * geometry.warps; w++)
            if (geometry.lanes_of(w) & ~exited[w]) return false;
        return true;
    }

    u8* shared_of(int block) { return shared_.get() + static_cast<i64>(block) * shared_stride; }
    u8* local_of(int lane) { return local_.get() + static_cast<i64>(lane) * launch_.local_bytes; }

    // The memory at a generic address as a lane sees it, and the number of bytes left there.
    std::pair<const u8*, i64> seen(int lane, i64 address) {
        if (address >= LOCAL_WINDOW)
            return within(local_of(lane), address - LOCAL_WINDOW, launch_.local_bytes);
        if (address >= SHARED_WINDOW) {
            const i64 window = (address - SHARED_WINDOW) / WINDOW_BYTES;
            const int block = geometry.in_window(geometry.block_of(lane), window);
            if (block < 0) return {nullptr, 0};
            return within(shared_of(block), address % WINDOW_BYTES, launch_.shared_bytes);
        }
        const i64 slot = (address >> SLOT_BITS) - 1;
        if (slot < 0 || slot >= launch_.buffer_count) return {nullptr, 0};
        const Buffer& buffer = launch_.buffers[slot];
        return within(buffer.data, address - buffer.base, buffer.size);
    }

   private:
    static std::pair<const u8*, i64> within(const u8* memory, i64 offset, i64 size) {
        if (offset < 0 || offset >= size) return {nullptr, 0};
        return {memory + offset, size - offset};
    }

    const Launch& launch_;
    std::vector<Pattern> patterns_;
    Held<u8> registers_, shared_, local_;
    Undo undo_;
};

}  // namespace machine
