#include "http/metrics_server.hpp"

#include "base/signals_blocked.hpp"
#include "http/libmicrohttpd.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

namespace holdfast::http {

namespace {

// Enough for several scrapers; more wait until one of them has ended.
constexpr unsigned connections_at_once = 16;
constexpr unsigned seconds_without_traffic = 5;  // so slow connections keep no scraper out for long
constexpr std::size_t longest_request = 16 * 1024;

struct answer {
    unsigned status = MHD_HTTP_OK;
    std::string body;
    std::string type = "text/plain; charset=utf-8";
};

// A scraper that reads OpenMetrics says so: Prometheus gives it the greatest weight.
metrics_format wanted_format(MHD_Connection* by) {
    const char* const accepted =
        microhttpd().MHD_lookup_connection_value(by, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    return accepted != nullptr && std::strstr(accepted, "application/openmetrics-text") != nullptr
               ? metrics_format::open_metrics
               : metrics_format::prometheus;
}

answer answer_to(const metrics_server& of, MHD_Connection* by, std::string_view method,
                 std::string_view path) {
    if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
        return {MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD.\n"};
    if (path != "/metrics") return {MHD_HTTP_NOT_FOUND, "Metrics of holdfast are at /metrics.\n"};
    const auto as = wanted_format(by);
    return {MHD_HTTP_OK, of.text(as), std::string{content_type(as)}};
}

MHD_Result send(MHD_Connection* to, answer what) {
    const auto& http = microhttpd();
    MHD_Response* const r =
        http.MHD_create_response_from_buffer(what.body.size(), what.body.data(), MHD_RESPMEM_MUST_COPY);
    if (r == nullptr) return MHD_NO;
    http.MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, what.type.c_str());
    if (what.status == MHD_HTTP_METHOD_NOT_ALLOWED)
        http.MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    const auto sent = http.MHD_queue_response(to, what.status, r);
    http.MHD_destroy_response(r);
    return sent;
}

// Called when the headers are there, and again behind each part of a body.
MHD_Result on_request(void* server, MHD_Connection* from, const char* path, const char* method,
                      const char* /*version*/, const char* /*body*/, std::size_t* body_size, void** seen) {
    // An answer before the end of a body that nobody reads would cost the connection.
    if (*seen == nullptr || *body_size > 0) {
        *seen = server;
        *body_size = 0;
        return MHD_YES;
    }
    try {
        return send(from, answer_to(*static_cast<const metrics_server*>(server), from, method, path));
    } catch (const std::exception&) {
        return MHD_NO;  // closes the connection: a scraper counts that as a failed scrape
    }
}

}  // namespace

metrics_server::metrics_server(std::string_view address, source text) : text_(std::move(text)) {
    const auto& http = microhttpd();
    socket_ = listen_on(address);
    struct stat before {};
    ::fstat(socket_.fd.get(), &before);
    errno = 0;
    const base::signals_blocked meanwhile;  // they are for the program's own threads
    daemon_ =
        http.MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr, &on_request,
                              this, MHD_OPTION_LISTEN_SOCKET, socket_.fd.get(), MHD_OPTION_CONNECTION_LIMIT,
                              connections_at_once, MHD_OPTION_CONNECTION_TIMEOUT, seconds_without_traffic,
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, longest_request, MHD_OPTION_END);
    if (daemon_ != nullptr) return;
    const int why = errno != 0 ? errno : EMFILE;
    // After some failures the library has closed the socket, and its number may be another file by now.
    struct stat now {};
    const bool is_ours = ::fstat(socket_.fd.get(), &now) == 0 && now.st_ino == before.st_ino;
    if (!is_ours) socket_.fd.release();
    throw std::system_error(why, std::generic_category(), "config::metrics_listen");
}

metrics_server::~metrics_server() {
    const auto& http = microhttpd();
    http.MHD_quiesce_daemon(daemon_);  // the socket is ours again
    http.MHD_stop_daemon(daemon_);
}

}  // namespace holdfast::http
