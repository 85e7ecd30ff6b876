// Joint stores whose clients do not ask their arbiter as they must.
#include "chaos/runner/precautions.hpp"

#include "backends/joint/store.hpp"
#include "backends/registry.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/url.hpp"
#include "io/reactor.hpp"
#include "store/forwarding_store.hpp"
#include "store/linearizable_register.hpp"

#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::chaos {

namespace {

using namespace backend;
using value_handler = handler<result<register_value>>;
using std::chrono::milliseconds;

class careless_register : public linearizable_register {
  public:
    explicit careless_register(linearizable_register& real) : real_(real) {}
    void change(std::string_view name, std::uint64_t expected, std::string_view text, time_point deadline,
                value_handler done) override {
        real_.change(name, expected, text, deadline, std::move(done));
    }

  protected:
    linearizable_register& real_;
};

// What it knows is true until it hears of something else.
class trusting_register final : public careless_register {
  public:
    trusting_register(const backends::services& given, linearizable_register& real)
        : careless_register(real), reactor_(given.reactor) {}

    void read(std::string_view name, const register_value& known, time_point deadline,
              value_handler done) override {
        if (known.version == 0) return real_.read(name, known, deadline, std::move(done));
        const auto once = std::make_shared<value_handler>(std::move(done));
        const auto answer = [once, known](result<register_value> got) {
            if (!*once) return;
            const auto to = std::exchange(*once, {});
            if (std::holds_alternative<failure>(got)) got = known;
            to(std::move(got));
        };
        real_.read(name, known, deadline, answer);
        reactor_.at(deadline, [answer] { answer(failure{}); });
    }

  private:
    io::reactor& reactor_;
};

// `get` where a transaction would ask a quorum.
class plain_register final : public careless_register {
  public:
    plain_register(const backends::services& given, linearizable_register& real)
        : careless_register(real),
          where_(zookeeper_backend::parse_url(given.settings.url)),
          paths_(where_.chroot, where_.base, where_.names),
          session_(std::make_shared<zookeeper::session>(
              zookeeper::session_config{.servers = where_.servers,
                                        .credentials = {},
                                        .timeout = milliseconds{1'000},
                                        .tick = where_.tick,
                                        .answer_timeout = given.settings.answer_timeout},
              given.reactor,
              zookeeper::session::events{.attached = [](const auto&) {},
                                         .detached = [](const auto&, auto) {},
                                         .expired = [](const auto&) {},
                                         .watched = [](const auto&) {},
                                         .proven = [](auto) {}})) {}
    ~plain_register() override { session_->close(boot_clock::now()); }

    void read(std::string_view name, const register_value& known, time_point deadline,
              value_handler done) override {
        if (known.version == 0) return real_.read(name, known, deadline, std::move(done));
        const auto to = std::make_shared<value_handler>(std::move(done));
        const auto directory = paths_.of_register(name);
        ask(zookeeper::get_children(directory, zookeeper::watch::no), deadline,
            [this, to, directory, deadline](const zookeeper::answer& a) {
                const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
                if (!found || found->names.empty()) return (*to)(no_answer());
                read_node(directory + '/' + found->names[0], deadline, to);
            });
    }

  private:
    static failure no_answer() { return {make_error_code(errc::unavailable), {}, {}}; }
    void ask(zookeeper::request what, time_point deadline, zookeeper::session::handler then) {
        std::vector<zookeeper::session::call> one;
        one.push_back({std::move(what), std::move(then)});
        session_->submit(std::move(one), deadline);
    }
    void read_node(const std::string& path, time_point deadline, const std::shared_ptr<value_handler>& to) {
        ask(zookeeper::get_data(path, zookeeper::watch::no), deadline,
            [to, path](const zookeeper::answer& a) {
                auto data = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
                if (!data) return (*to)(no_answer());
                register_value found{0, std::move(data->data)};
                const auto digits = std::string_view{path}.substr(path.rfind('-') + 1);
                (void)std::from_chars(digits.data(), digits.data() + digits.size(), found.version, 16);
                (*to)(std::move(found));
            });
    }

    const zookeeper_backend::url where_;
    const zookeeper_backend::paths paths_;
    const std::shared_ptr<zookeeper::session> session_;
};

// A joint store asks its arbiter for the register, and for nothing else.
template <class Register>
class careless_arbiter final : public forwarding_store {
  public:
    careless_arbiter(const backends::services& given, std::unique_ptr<store> real)
        : forwarding_store(*real), real_(std::move(real)), register_(given, *real_->as_register()) {}

    linearizable_register* as_register() noexcept override { return &register_; }

  private:
    std::unique_ptr<store> real_;
    Register register_;
};

template <class Register>
std::unique_ptr<store> open_level(const backends::services& given) {
    auto real = backends::open(given);
    if (!given.settings.url.starts_with("zk:")) return real;
    return std::make_unique<careless_arbiter<Register>>(given, std::move(real));
}

template <class Register>
std::unique_ptr<store> open_joint(const backends::services& given) {
    return joint_backend::open(given, &open_level<Register>);
}

}  // namespace

void be_careless(precautions care) {
    if (care == precautions::ignored_lease) backends::add("joint", &open_joint<trusting_register>);
    if (care == precautions::plain_read) backends::add("joint", &open_joint<plain_register>);
}

}  // namespace holdfast::chaos
