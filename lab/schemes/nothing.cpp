// No lock: every lock() fails. The lab must not take that for a cure.
#include "lab/schemes/schemes.hpp"

#include <stdexcept>

namespace holdfast::lab {

namespace {

struct nothing final : scheme {
    using scheme::scheme;

    void lock() override { throw std::runtime_error("this is no lock"); }
    void unlock() override {}
};

}  // namespace

std::unique_ptr<scheme> make_nothing(performer& by) { return std::make_unique<nothing>(by); }

}  // namespace holdfast::lab
