// How long this machine has kept threads of this process from running. A test that says "soon" means the
// time in which the machine lets it run: a machine that is paused, or has four times more to do than it has
// processors, is no fault of a lock.
#pragma once

#include <chrono>
#include <ostream>

namespace holdfast::test {

// Measures from now on, in a thread of its own for each processor; once for a process. See main.cpp.
void measure_stalls();
// A new test begins.
void forget_stalls();
// The sum since then, on the processor where it is greatest. 0 in a process that does not measure: one that
// was forked.
[[nodiscard]] std::chrono::milliseconds stalls();

// How much stalls may have added to what a test measures: a client, a server and another client may each have
// stalled in turn. Call it right after the measurement.
[[nodiscard]] inline std::chrono::milliseconds taken_by_the_machine() { return 3 * stalls(); }

// `length`, and what stalls may have added.
class limit_of_a_busy_machine {
  public:
    using milliseconds = std::chrono::milliseconds;

    constexpr explicit limit_of_a_busy_machine(milliseconds length) : length_(length) {}
    // NOLINTNEXTLINE(google-explicit-constructor): it is used as a time
    operator milliseconds() const { return length_ + taken_by_the_machine(); }

    template <class Rep, class Period>
    friend auto operator+(std::chrono::duration<Rep, Period> time, const limit_of_a_busy_machine& more) {
        return time + milliseconds{more};
    }
    template <class Rep, class Period>
    friend auto operator-(std::chrono::duration<Rep, Period> time, const limit_of_a_busy_machine& less) {
        return time - milliseconds{less};
    }
    friend bool operator<(milliseconds took, const limit_of_a_busy_machine& limit) {
        return took < milliseconds{limit};
    }
    friend std::ostream& operator<<(std::ostream& out, const limit_of_a_busy_machine& limit) {
        return out << milliseconds{limit}.count() << "ms";
    }

  private:
    milliseconds length_;
};

}  // namespace holdfast::test
