// Runs a function on a thread of its own.
#pragma once

#include <functional>
#include <future>
#include <utility>

namespace holdfast::test {

// The future waits for the thread in its destructor. Through std::function, because std::async makes fifty
// functions for each lambda: that was a quarter of what the compiler wrote.
template <class Fn>
auto in_background(Fn fn) {
    return std::async(std::launch::async, std::function{std::move(fn)});
}

}  // namespace holdfast::test
