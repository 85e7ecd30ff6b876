#include "backends/joint/core.hpp"

#include "backends/joint/automation.hpp"
#include "backends/joint/round.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

namespace holdfast::joint_backend {

namespace {

config with_url(const config& all, const std::string& url) {
    auto own = all;
    own.url = url;
    return own;
}

}  // namespace

core::core(const backends::services& given, joint_config w)
    : wanted(std::move(w)),
      given_(given),
      settings_(given.settings),
      margin_{given.settings.drift, given.settings.margin} {
    for (const auto& one : wanted.levels) {
        levels_.push_back(std::make_unique<a_level>());
        levels_.back()->settings = with_url(settings_, one.url);
    }
}

void core::open(level_opener opener) {
    try {
        for (std::size_t i = 0; i < size(); ++i) {
            auto& l = *levels_[i];
            l.store = opener({given_.reactor, l.settings, given_.id,
                              [weak = weak_from_this(), i](const notice& n) {
                                  if (const auto self = weak.lock()) self->on_notice(i, n);
                              },
                              given_.undo});
            if (l.store->has().votes)
                throw error(errc::invalid_argument,
                            "joint URL: " + place(i) + " is made of stores itself and cannot be a level");
        }
        if (!wanted.pin) open_arbiter(opener);
        keeper_ = std::make_shared<mode_keeper>(
            mode_keeper_tools{.reactor = given_.reactor,
                              .in = in_,
                              .pinned = wanted.pin ? needed_levels{*wanted.pin} : needed_levels{},
                              .name = "holdfast.mode." + wanted.group,
                              .agreed = wanted.agreed(),
                              .levels = size(),
                              .mode_lease = wanted.mode_lease,
                              .max_skew = wanted.max_skew,
                              .answer_timeout = settings_.answer_timeout,
                              .margin = margin_,
                              .confirmed =
                                  [weak = weak_from_this()](const confirmed_mode& now) {
                                      if (const auto self = weak.lock(); self && !self->closed())
                                          self->on_mode(now);
                                  },
                              .failed =
                                  [weak = weak_from_this()](const failure& why) {
                                      if (const auto self = weak.lock(); self && !self->closed())
                                          self->on_failure(why);
                                  },
                              .unused =
                                  [weak = weak_from_this()] {
                                      if (const auto self = weak.lock(); self && !self->closed())
                                          self->on_answer_of_arbiter();
                                  }});
    } catch (...) {
        close();
        throw;
    }
    keeper_->begin();
    if (in_ != nullptr) begin_automation();
}

void core::open_arbiter(level_opener opener) {
    for (std::size_t i = 0; i < size(); ++i)
        if (wanted.levels[i].place == wanted.arbiter.place) in_ = level(i).as_register();
    if (in_ != nullptr) return;
    arbiter_settings_ = with_url(settings_, wanted.arbiter.url);
    arbiter_ = opener({given_.reactor, arbiter_settings_, given_.id, [](const notice&) {}});
    in_ = arbiter_->as_register();
    if (in_ == nullptr)
        throw error(errc::invalid_argument,
                    "joint URL: " + base::printable(wanted.arbiter.place) +
                        " cannot be the arbiter; zk://, postgres://, mariadb://, sqlite: and file: can");
}

void core::close() {
    if (closed_.exchange(true)) return;
    // What runs now on the reactor's thread is over then; what runs later sees closed_.
    given_.reactor.run_and_wait([this] {
        if (automation_) automation_->close();
        if (keeper_) keeper_->close();
    });
    std::vector<std::shared_ptr<round>> waited;
    {
        const base::guard lock(mutex_);
        waited = std::exchange(waiting_, {});
    }
    for (const auto& to : waited) {
        given_.reactor.cancel(to->timer);
        next_level(to);
    }
    // Each store answers its open requests; those handlers use no other store.
    for (const auto& l : levels_) l->store.reset();
    arbiter_.reset();
}

void core::abandon() noexcept {
    closed_ = true;
    for (const auto& l : levels_) l->store->abandon();
    if (arbiter_) arbiter_->abandon();
}

}  // namespace holdfast::joint_backend
