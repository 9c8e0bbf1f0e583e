// The contents of buffers before the launch, page by page, so that a run can be abandoned.
//
// A page that only repeats one word takes no memory. Beyond MOST_IN_MEMORY bytes, pages go to a file.

#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>

#include "machine.h"

namespace machine {

class Undo {
   public:
    static constexpr int PAGE_SHIFT = 12;
    static constexpr i64 MOST_IN_MEMORY = i64(1) << 27;  // bytes

    // Saves the page of an address before it is first written.
    void keep(Buffer& buffer, i64 offset) {
        const i64 page = offset >> PAGE_SHIFT;
        if (!__atomic_load_n(&buffer.saved[page], __ATOMIC_ACQUIRE)) save(buffer, page);
    }

    // Returns false if the file cannot be read back.
    bool restore() {
        if (file_) std::rewind(file_.get());
        for (const Page& page : pages_)
            if (!page.restore(file_.get())) return false;
        pages_.clear();
        return true;
    }

   private:
    enum Where : u8 { REPEATED, IN_MEMORY, IN_FILE };

    struct Page {
        u8* place;
        i64 size;
        Where where;
        u64 word;  // the repeated word
        std::unique_ptr<u8[]> contents;

        bool restore(std::FILE* file) const {
            if (where == IN_FILE) return std::fread(place, 1, size, file) == size_t(size);
            if (where == IN_MEMORY) std::memcpy(place, contents.get(), size);
            if (where == REPEATED)
                for (i64 n = 0; n < size; n += sizeof word)
                    std::memcpy(place + n, &word, std::min<i64>(sizeof word, size - n));
            return true;
        }
    };
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    void save(Buffer& buffer, i64 page) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (buffer.saved[page]) return;
        const i64 start = page << PAGE_SHIFT, whole = i64(1) << PAGE_SHIFT;
        const i64 size = std::min(buffer.size - start, whole);
        add(buffer.data + start, size);
        if (buffer.filled) add(buffer.filled + start, size);
        __atomic_store_n(&buffer.saved[page], 1, __ATOMIC_RELEASE);
    }

    void add(u8* place, i64 size) {
        u64 word = 0;
        std::memcpy(&word, place, std::min<i64>(sizeof word, size));
        if (size <= i64(sizeof word) || !std::memcmp(place, place + sizeof word, size - sizeof word)) {
            pages_.push_back({place, size, REPEATED, word, nullptr});
        } else if (in_memory_ >= MOST_IN_MEMORY && written(place, size)) {
            pages_.push_back({place, size, IN_FILE, 0, nullptr});
        } else {
            pages_.push_back({place, size, IN_MEMORY, 0, std::unique_ptr<u8[]>(new u8[size])});
            std::memcpy(pages_.back().contents.get(), place, size);
            in_memory_ += size;
        }
    }

    // Returns false if a file has no room. A page that was written in part is then at the end of the file.
    bool written(const u8* place, i64 size) {
        if (!file_ && !is_full_) {
            file_.reset(std::tmpfile());
            if (file_) std::setvbuf(file_.get(), nullptr, _IONBF, 0);
        }
        is_full_ = is_full_ || !file_ || std::fwrite(place, 1, size, file_.get()) != size_t(size);
        return !is_full_;
    }

    std::mutex lock_;
    std::vector<Page> pages_;
    std::unique_ptr<std::FILE, Close> file_;
    i64 in_memory_ = 0;
    bool is_full_ = false;
};

}  // namespace machine
