// admin::publish_document.
#include "fallback/publish.hpp"
#include "backends/registry.hpp"
#include "io/reactor.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>

#include <string>

namespace holdfast {

bool admin::publish_document(const config& settings, const std::string& document) {
    if (!fallback::is_arbiter(settings.switch_source))
        throw error(errc::invalid_argument,
                    "only a switch source arbiter:URL is published to by holdfast; write a file, or use the "
                    "configuration centre's own tools");
    io::reactor reactor;
    fallback::arbiter_document to{reactor, settings, settings.switch_source, backends::open};
    return fallback::publish(reactor, to, document, settings.answer_timeout);
}

}  // namespace holdfast
