// What the locks of a topology need so that nothing is lost. Without it, a run must find a loss.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::chaos {

enum class precautions : std::uint8_t {
    taken,
    left_out,
    // A joint store takes all but one:
    brief_step,     // the mode with two levels may be left at once
    ignored_lease,  // a client uses the mode that it knows, for as long as the arbiter does not answer
    plain_read,     // and believes what one server of the arbiter has, without a quorum
};

// The names of --careless; "": left_out. Throws std::runtime_error for any other.
[[nodiscard]] precautions precautions_of(std::string_view name);
[[nodiscard]] std::string_view to_string(precautions) noexcept;

// Makes all joint stores of this process as careless as that: the last two.
void be_careless(precautions);

}  // namespace holdfast::chaos
