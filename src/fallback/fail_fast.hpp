// Locks that fail closed, and fast: while their store is away, a call that does not wait is refused at once
// instead of after config::answer_timeout, and a call that waits goes on waiting. See breaker.hpp.
#pragma once

#include "fallback/breakers.hpp"
#include "fallback/wish.hpp"
#include "store/forwarding_store.hpp"

#include <memory>

namespace holdfast::fallback {

class fail_fast : public backend::forwarding_store {
  public:
    using forwarding_store::forwarding_store;

    virtual void main_is_up() = 0;  // reached again after an outage
};

// `main` outlives the result.
[[nodiscard]] std::unique_ptr<fail_fast> open_fail_fast(backend::store& main,
                                                        std::shared_ptr<const wish> wished,
                                                        std::shared_ptr<breakers> of_client,
                                                        std::chrono::milliseconds answer_timeout);

}  // namespace holdfast::fallback
