#include "redis/pubsub/subscriber.hpp"

#include "redis/pubsub/subscriber_core.hpp"

namespace holdfast::redis {

namespace {

class token final : public subscription {
  public:
    token(std::shared_ptr<subscriber::core> c, std::shared_ptr<listener> l)
        : core_(std::move(c)), listener_(std::move(l)) {}
    ~token() override { core_->leave(listener_); }

  private:
    std::shared_ptr<subscriber::core> core_;
    std::shared_ptr<listener> listener_;
};

}  // namespace

subscriber::subscriber(const node_config& config, io::reactor& r)
    : core_(std::make_shared<core>(config, r)) {}

subscriber::~subscriber() {
    if (core_) core_->reactor().run_and_wait([this] { core_->close(); });
}

std::unique_ptr<subscription> subscriber::subscribe(std::string channel, sub_handler handler, pubsub how) {
    return std::make_unique<token>(core_, core_->join(std::move(channel), std::move(handler), how));
}

void subscriber::abandon() noexcept {
    core_->abandon();
    [[maybe_unused]] auto* leaked = new std::shared_ptr<core>(std::move(core_));
}

}  // namespace holdfast::redis
