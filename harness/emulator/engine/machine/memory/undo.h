// What buffers held before the launch, page by page, so that a run can be given up.

#pragma once

#include <memory>
#include <mutex>

#include "machine.h"

namespace machine {

class Undo {
   public:
    static constexpr int PAGE_SHIFT = 12;

    // Keep the page of an address before it is written for the first time.
    void keep(Buffer& buffer, i64 offset) {
        const i64 page = offset >> PAGE_SHIFT;
        if (!__atomic_load_n(&buffer.saved[page], __ATOMIC_ACQUIRE)) save(buffer, page);
    }

    void restore() {
        for (const Page& page : pages_) std::memcpy(page.place, page.contents.get(), page.size);
        pages_.clear();
    }

   private:
    struct Page {
        u8* place;
        i64 size;
        std::unique_ptr<u8[]> contents;
    };

    void save(Buffer& buffer, i64 page) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (buffer.saved[page]) return;
        const i64 start = page << PAGE_SHIFT, whole = i64(1) << PAGE_SHIFT;
        const i64 size = buffer.size - start < whole ? buffer.size - start : whole;
        pages_.push_back({buffer.data + start, size, std::unique_ptr<u8[]>(new u8[size])});
        std::memcpy(pages_.back().contents.get(), buffer.data + start, size);
        __atomic_store_n(&buffer.saved[page], 1, __ATOMIC_RELEASE);
    }

    std::mutex lock_;
    std::vector<Page> pages_;
};

}  // namespace machine
