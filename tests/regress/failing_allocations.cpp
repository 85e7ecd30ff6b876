#include "regress/failing_allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

bool fails() {
    using namespace holdfast::test;
    if (allocations_left == never) return false;
    if (allocations_left > 0) {
        --allocations_left;
        return false;
    }
    if (what_fails == failure::of_one_allocation) allocations_left = never;
    return true;
}

}  // namespace

void* operator new(std::size_t size) {
    if (fails()) throw std::bad_alloc{};
    if (void* const got = std::malloc(size == 0 ? 1 : size)) return got;
    throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
