// Goal: a program in C can use the engine over a store and over a cache, and receives each failure
// as a code and a text of its own thread.
// Method: engine_calls.c, compiled by the C compiler; files that the engine must refuse.
#include <outlast/server/engine.h>
#include <tests/unit/server/engine_calls.h>
#include <tests/support/memory_folder.hpp>
#include <tests/support/store_home.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace outlast::server {
namespace {

class engine : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }
  static std::string last_error() { return outlast_last_error(); }

 private:
  test::scratch_folder folder_;
};

TEST_F(engine, serves_a_store_to_a_program_in_c) {
  EXPECT_EQ(engine_uses_store(path("store").c_str()), 0) << last_error();
}

TEST_F(engine, serves_a_cache_to_a_program_in_c) {
  EXPECT_EQ(engine_uses_cache(path("pool").c_str()), 0) << last_error();
}

TEST_F(engine, refuses_wrong_arguments) {
  EXPECT_EQ(engine_refuses_wrong_arguments(path("store").c_str()), 0) << last_error();
}

TEST_F(engine, refuses_the_files_of_others) {
  outlast_space* space = nullptr;
  std::ofstream(path("pool")) << std::string(100'000, 'x');
  EXPECT_EQ(outlast_space_open_cache(path("pool").c_str(), nullptr, &space), outlast_refused);
  EXPECT_NE(last_error().find(path("pool")), std::string::npos) << last_error();
  test::store_home home(test::place::record_files);
  ASSERT_TRUE(home.open().ok());
  ASSERT_TRUE(home->Put({}, "key", "value").ok());
  home.close();
  EXPECT_EQ(outlast_space_open_store(home.name().c_str(), nullptr, &space), outlast_refused);
  EXPECT_NE(last_error().find("keys of another program"), std::string::npos) << last_error();
  EXPECT_EQ(space, nullptr);
  ASSERT_TRUE(home.open().ok()) << "the engine has closed the store";
  EXPECT_EQ(outlast_space_open_store(home.name().c_str(), nullptr, &space), outlast_in_use)
      << last_error();
}

TEST_F(engine, keeps_the_failure_of_each_thread) {
  ASSERT_EQ(outlast_space_make_durable(nullptr), outlast_bad_argument);
  const std::string mine = last_error();
  EXPECT_FALSE(mine.empty());
  std::thread([&] {
    EXPECT_EQ(outlast_feed(nullptr, nullptr, 0, 0, nullptr), outlast_bad_argument);
    EXPECT_NE(last_error(), mine);
  }).join();
  EXPECT_EQ(last_error(), mine);
}

TEST_F(engine, replies_that_a_store_is_full) {
  outlast_store_options options{};
  options.capacity_bytes = std::uint64_t{16} << 20;
  outlast_space* space = nullptr;
  outlast_conversation* client = nullptr;
  ASSERT_EQ(outlast_space_open_store(path("store").c_str(), &options, &space), outlast_ok);
  ASSERT_EQ(outlast_conversation_open(space, outlast_resp, &client), outlast_ok);
  std::string reply = "+OK\r\n";
  for (int i = 0; i < 1'000 && reply == "+OK\r\n"; ++i) {
    const std::string key = std::to_string(1'000 + i);
    const std::string request =
        "*3\r\n$3\r\nSET\r\n$4\r\n" + key + "\r\n$100000\r\n" + std::string(100'000, 'x') + "\r\n";
    outlast_fed fed{};
    ASSERT_EQ(outlast_feed(client, request.data(), request.size(), 1, &fed), outlast_ok);
    reply.assign(fed.replies, fed.replies_bytes);
  }
  EXPECT_EQ(reply.substr(0, 4), "-OOM") << reply;
  outlast_fed fed{};
  const std::string ping = "PING\r\n";
  EXPECT_EQ(outlast_feed(client, ping.data(), ping.size(), 1, &fed), outlast_ok);
  EXPECT_EQ(std::string(fed.replies, fed.replies_bytes), "+PONG\r\n");
  outlast_conversation_close(client);
  EXPECT_EQ(outlast_space_close(space), outlast_ok);
}

}  // namespace
}  // namespace outlast::server
