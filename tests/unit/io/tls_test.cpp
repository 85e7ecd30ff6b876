// The files that a TLS context is made of.
#include "io/tls.hpp"

#include "support/certificates.hpp"
#include "support/eventually.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include <cstdio>
#include <fstream>

namespace holdfast::io {
namespace {

struct tls_files : ::testing::Test {
    test::temp_dir folder;
    test::certificate_authority ca{folder.path(), "ca"};
    test::certificate own = ca.issue("own", "DNS:own");
    test::certificate another = ca.issue("another", "DNS:another");

    [[nodiscard]] std::string path(const std::string& name) const { return (folder.path() / name).string(); }
    // The constructor's message; empty if it accepts the settings.
    [[nodiscard]] static std::string error_message(tls_settings s) {
        if (s.server_name.empty()) s.server_name = "h";
        try {
            const tls_context made{std::move(s)};
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_argument);
            return e.what();
        }
        return {};
    }
    static void expect_names(const std::string& text, const std::string& file, std::string_view why) {
        EXPECT_NE(text.find(file), std::string::npos) << text;
        EXPECT_NE(text.find(why), std::string::npos) << text;
    }
};

TEST_F(tls_files, are_accepted_if_they_match) {
    EXPECT_EQ(error_message({}), "");
    EXPECT_EQ(error_message({.ca = ca.file()}), "");
    EXPECT_EQ(error_message({.ca = ca.file(), .cert = own.cert, .key = own.key}), "");
}

TEST_F(tls_files, unreadable_file_is_named_in_the_error) {
    expect_names(error_message({.ca = path("none")}), "ca=\"" + path("none") + "\"", "No such file");
    expect_names(error_message({.ca = folder.path().string()}), "ca=\"", "Is a directory");
    expect_names(error_message({.cert = path("none"), .key = own.key}), "cert=\"" + path("none"),
                 "No such file");
    expect_names(error_message({.cert = own.cert, .key = path("none")}), "key=\"" + path("none"),
                 "No such file");
}

TEST_F(tls_files, file_without_pem_is_named_in_the_error) {
    std::ofstream{path("text")} << "hello\n";
    std::ofstream{path("empty")};
    for (const auto& file : {path("text"), path("empty")}) {
        expect_names(error_message({.ca = file}), "ca=\"" + file, "holds no certificates in PEM");
        expect_names(error_message({.cert = file, .key = own.key}), "cert=\"" + file,
                     "holds no certificate in PEM");
        expect_names(error_message({.cert = own.cert, .key = file}), "key=\"" + file, "holds no key in PEM");
    }
}

TEST_F(tls_files, mismatched_certificate_and_key_are_named_in_the_error) {
    const auto answer = error_message({.cert = own.cert, .key = another.key});
    expect_names(answer, "key=\"" + another.key, "does not fit");
    expect_names(answer, own.cert, "does not fit");
}

// By default OpenSSL would ask for the passphrase on the terminal and wait.
TEST_F(tls_files, key_with_a_passphrase_is_named_in_the_error) {
    auto* file = std::fopen(own.key.c_str(), "r");
    auto* key = ::PEM_read_PrivateKey(file, nullptr, nullptr, nullptr);
    std::fclose(file);
    file = std::fopen(path("locked").c_str(), "w");
    unsigned char secret[] = "secret";
    EXPECT_EQ(::PEM_write_PrivateKey(file, key, ::EVP_aes_128_cbc(), secret, 6, nullptr, nullptr), 1);
    std::fclose(file);
    ::EVP_PKEY_free(key);
    expect_names(error_message({.cert = own.cert, .key = path("locked")}), path("locked"),
                 "wants a passphrase");
}

TEST(tls_server_name, empty_or_overlong_name_is_rejected) {
    EXPECT_THROW(tls_context({.server_name = ""}), error);
    EXPECT_THROW(tls_context({.server_name = std::string(256, 'a')}), error);
}

}  // namespace
}  // namespace holdfast::io
