// A server of coroutines: one thread, many connections, and a lock around each order. Nothing blocks.
//
//     ./server [PORT [URL]]          then: printf 'apple\npear\n' | nc 127.0.0.1 7070
#include <holdfast/async.hpp>
#include <holdfast/holdfast.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using asio::use_awaitable;
using asio::ip::tcp;
using namespace std::chrono_literals;

//[serve
// Only one of the servers that share the Redis sells an item at a time.
asio::awaitable<std::string> sell(const std::string& item, holdfast::client& locks) {
    holdfast::mutex stock{locks, "stock:" + item};
    holdfast::lease held = co_await holdfast::async_try_acquire_for(stock, 2s, use_awaitable);
    if (!held) co_return "busy\n";
    if (!held.valid()) co_return "too late\n";
    // The work comes here.
    const auto end = co_await holdfast::async_release(std::move(held), use_awaitable);
    if (end == holdfast::release_outcome::already_lost)
        co_return "sold " + item + ", but the lock was lost: perhaps somebody else sold it too\n";
    co_return "sold " + item + "\n";
}

// Each line names an item.
asio::awaitable<void> serve(tcp::socket socket, holdfast::client& locks) {
    std::string text;
    for (;;) {
        const auto n =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(text, 1024), '\n', use_awaitable);
        std::string item = text.substr(0, n - 1);
        text.erase(0, n);
        if (item.ends_with('\r')) item.pop_back();  // telnet's end of line
        std::string answer = "error: which item?\n";
        if (!item.empty()) answer = co_await sell(item, locks);
        co_await asio::async_write(socket, asio::buffer(answer), use_awaitable);
    }
}
//]

asio::awaitable<void> listen(std::uint16_t port, holdfast::client& locks) {
    const auto executor = co_await asio::this_coro::executor;
    tcp::acceptor acceptor{executor, {asio::ip::address_v4::loopback(), port}};
    std::cout << "listening on 127.0.0.1:" << acceptor.local_endpoint().port() << std::endl;
    for (;;) {
        auto [failed, socket] = co_await acceptor.async_accept(asio::as_tuple(use_awaitable));
        if (failed) {  // usually no descriptors are left: connections that end free some
            std::cerr << "accept: " << failed.message() << '\n';
            asio::steady_timer pause{executor, 100ms};
            co_await pause.async_wait(use_awaitable);
            continue;
        }
        asio::co_spawn(executor, serve(std::move(socket), locks), [](const std::exception_ptr& why) {
            try {
                if (why) std::rethrow_exception(why);
            } catch (const boost::system::system_error& e) {
                if (e.code() != asio::error::eof) std::cerr << e.what() << '\n';
            } catch (const holdfast::error& e) {  // an invalid lock name
                std::cerr << e.what() << '\n';
            }
        });
    }
}

int main(int argc, char** argv) try {
    const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 7070);
    holdfast::client locks{argc > 2 ? argv[2] : "redis://127.0.0.1:6379"};
    asio::io_context loop{1};
    asio::signal_set end{loop, SIGINT, SIGTERM};
    end.async_wait([&](auto, int) { loop.stop(); });
    asio::co_spawn(loop, listen(port, locks), [](const std::exception_ptr& why) {
        if (why) std::rethrow_exception(why);
    });
    loop.run();
} catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
