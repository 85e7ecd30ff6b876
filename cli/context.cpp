#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/config_file.hpp"

namespace holdfast::cli {

config context::settings() const {
    if (urls.size() > 1)
        throw usage_error("only one --url is supported today; several stores come with a later version");
    auto wanted = config_file.empty() ? config{} : read_config(plain(config_file));
    if (!urls.empty()) wanted.url = plain(urls.front());
    return wanted;
}

}  // namespace holdfast::cli
