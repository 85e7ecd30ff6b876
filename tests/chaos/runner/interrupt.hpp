// Ctrl-C ends a run in good order, with its children and servers.
#pragma once

namespace holdfast::chaos {

void catch_interrupts();
[[nodiscard]] bool interrupted() noexcept;

}  // namespace holdfast::chaos
