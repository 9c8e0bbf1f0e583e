// Memory that starts out as zero and costs nothing until it is touched.

#pragma once

#include <cstdlib>
#include <memory>

namespace machine {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Zeros = std::unique_ptr<T[], Free>;

template <class T>
Zeros<T> zeros(size_t count) {
    return Zeros<T>(static_cast<T*>(std::calloc(count ? count : 1, sizeof(T))));
}

}  // namespace machine
