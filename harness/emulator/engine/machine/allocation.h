// Memory that is zero at first and costs nothing until it is touched, or that is uninitialised.

#pragma once

#include <cstdlib>
#include <memory>

namespace machine {

struct Free {
    void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Held = std::unique_ptr<T[], Free>;

template <class T>
Held<T> zeros(size_t count) {
    return Held<T>(static_cast<T*>(std::calloc(count ? count : 1, sizeof(T))));
}

template <class T>
Held<T> unset(size_t count) {
    return Held<T>(static_cast<T*>(std::malloc((count ? count : 1) * sizeof(T))));
}

}  // namespace machine
