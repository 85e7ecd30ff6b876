// Ctrl-C ends a run in good order: children and servers go with it.
#pragma once

namespace holdfast::chaos {

void catch_interrupts();
[[nodiscard]] bool interrupted() noexcept;

}  // namespace holdfast::chaos
