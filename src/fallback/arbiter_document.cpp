#include "fallback/arbiter_document.hpp"

#include "base/random.hpp"
#include "base/store_place.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <utility>
#include <variant>

namespace holdfast::fallback {

namespace {

constexpr std::string_view scheme = "arbiter:";
constexpr std::string_view name_option = "name=";
constexpr std::size_t longest_name = 48;

[[noreturn]] void refuse_arbiter(const std::string& why) {
    throw error(errc::invalid_argument, "the source arbiter: " + why);
}

config for_register(config of_client, const std::string& url) {
    of_client.url = url;
    of_client.policies.clear();
    of_client.switch_source.clear();
    return of_client;
}

}  // namespace

bool is_arbiter(std::string_view source) { return source.starts_with(scheme); }

std::string arbiter_address::shown() const {
    const auto place = base::printable(base::store_place(url));
    return std::string{scheme} +
           (name == arbiter_address{}.name ? place : std::string{name_option} + name + "," + place);
}

arbiter_address parse_arbiter(std::string_view source) {
    source.remove_prefix(std::min(source.size(), scheme.size()));
    arbiter_address to;
    if (source.starts_with(name_option)) {
        source.remove_prefix(name_option.size());
        to.name = source.substr(0, source.find(','));
        source.remove_prefix(std::min(source.size(), to.name.size() + 1));
        if (to.name.size() > longest_name || !backend::is_register_name(to.name))
            refuse_arbiter("needs a name of 1 to 48 letters, digits, \"-\", \"_\" and \".\"");
    }
    to.url = source;
    if (to.url.starts_with("local:")) refuse_arbiter("cannot be local:, which ends with this process");
    const auto colon = source.find(':');
    if (colon == std::string_view::npos || colon == 0)
        refuse_arbiter(
            "needs the URL of a store, as arbiter:zk://h1,h2,h3 or arbiter:name=shop,zk://h1,h2,h3");
    return to;
}

arbiter_document::arbiter_document(io::reactor& on, const config& of_client, std::string_view source,
                                   store_opener open)
    : reactor_(on), where_(parse_arbiter(source)), settings_(for_register(of_client, where_.url)) {
    store_ = open({reactor_, settings_, base::client_id::make(), [](const backend::notice&) {}});
    register_ = store_->as_register();
    if (register_ == nullptr)
        refuse_arbiter("cannot be " + base::printable(base::store_place(where_.url)) +
                       "; zk://, postgres://, mariadb://, sqlite: and file: can be one");
}

arbiter_document::~arbiter_document() {
    reactor_.run_and_wait([] {});  // a request that is made now has been made
    store_.reset();
    reactor_.run_and_wait([] {});  // the last answers have been given
}

void arbiter_document::read(backend::time_point deadline, backend::handler<answer> done) {
    register_->read(where_.register_name(), known_, deadline,
                    [this, done = std::move(done)](answer got) mutable {
                        reactor_.post([this, done = std::move(done), got = std::move(got)]() mutable {
                            if (const auto* const now = std::get_if<backend::register_value>(&got))
                                known_ = *now;
                            done(std::move(got));
                        });
                    });
}

void arbiter_document::write(const backend::register_value& before, const std::string& text,
                             backend::time_point deadline, backend::handler<answer> done) {
    register_->change(
        where_.register_name(), before.version, text, deadline,
        [this, done = std::move(done)](answer got) mutable {
            reactor_.post([done = std::move(done), got = std::move(got)]() mutable { done(std::move(got)); });
        });
}

}  // namespace holdfast::fallback
