// Goal: the classic commands of memcached have the effects and the replies of memcached 1.6.18.
// Method: a connection to a key space in ordinary memory; each input is sent whole and cut at every
// byte. The expected replies are those of a real memcached.
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <string>

namespace outlast::server {
namespace {

using test::for_each_cut;
using test::memcached_session;

TEST(MemcachedText, a_value_is_stored_and_returned_with_its_flags) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("set a 4294967295 0 3\r\nx\ny\r\n"), "STORED\r\n");
    EXPECT_EQ(client.send("get a\r\n"), "VALUE a 4294967295 3\r\nx\ny\r\nEND\r\n");
    EXPECT_EQ(client.send("get b\r\n"), "END\r\n");
  });
}

TEST(MemcachedText, a_get_with_many_keys_returns_the_items_in_their_order) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\n");
    EXPECT_EQ(client.send(" get  b  absent a b \r\n"),
              "VALUE b 0 1\r\n2\r\nVALUE a 0 1\r\n1\r\nVALUE b 0 1\r\n2\r\nEND\r\n");
  });
}

TEST(MemcachedText, gets_returns_a_number_that_changes_with_the_item) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    client.send("set a 0 0 1\r\n1\r\n");
    EXPECT_EQ(client.send("gets a\r\n"), "VALUE a 0 1 70\r\n1\r\nEND\r\n");
    client.send("append a 0 0 1\r\n2\r\n");
    EXPECT_EQ(client.send("gets a\r\n"), "VALUE a 0 2 71\r\n12\r\nEND\r\n");
    client.send("touch a 100\r\n");
    EXPECT_EQ(client.send("gats 0 a\r\n"), "VALUE a 0 2 71\r\n12\r\nEND\r\n");
  });
}

TEST(MemcachedText, add_and_replace_store_if_the_key_is_absent_or_present) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("replace a 0 0 1\r\n1\r\n"), "NOT_STORED\r\n");
    EXPECT_EQ(client.send("add a 0 0 1\r\n2\r\n"), "STORED\r\n");
    EXPECT_EQ(client.send("add a 0 0 1\r\n3\r\n"), "NOT_STORED\r\n");
    EXPECT_EQ(client.send("get a\r\n"), "VALUE a 0 1\r\n2\r\nEND\r\n");
    EXPECT_EQ(client.send("replace a 7 0 1\r\n4\r\nget a\r\n"),
              "STORED\r\nVALUE a 7 1\r\n4\r\nEND\r\n");
  });
}

TEST(MemcachedText, append_and_prepend_keep_flags_and_time) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("append a 0 0 1\r\n1\r\nprepend a 0 0 1\r\n1\r\n"),
              "NOT_STORED\r\nNOT_STORED\r\n");
    client.send("set a 5 100 1\r\nm\r\n");
    EXPECT_EQ(client.send("append a 9 -1 2\r\nyz\r\nprepend a 9 -1 2\r\nab\r\nget a\r\n"),
              "STORED\r\nSTORED\r\nVALUE a 5 5\r\nabmyz\r\nEND\r\n");
    client.now_ms += 100'000;
    EXPECT_EQ(client.send("get a\r\n"), "END\r\n");
  });
}

TEST(MemcachedText, cas_stores_if_the_number_is_the_items) {
  for_each_cut([](memcached_session& client) {
    client.space.set_next_unique(70);
    EXPECT_EQ(client.send("cas a 0 0 1 70\r\n1\r\n"), "NOT_FOUND\r\n");
    client.send("set a 0 0 1\r\n1\r\n");
    EXPECT_EQ(client.send("cas a 0 0 1 69\r\n2\r\n"), "EXISTS\r\n");
    EXPECT_EQ(client.send("cas a 0 0 1 0\r\n2\r\n"), "EXISTS\r\n");
    EXPECT_EQ(client.send("cas a 0 0 1 70\r\n3\r\nget a\r\n"),
              "STORED\r\nVALUE a 0 1\r\n3\r\nEND\r\n");
    EXPECT_EQ(client.send("cas a 0 0 1 x\r\n"), "CLIENT_ERROR bad command line format\r\n");
  });
}

TEST(MemcachedText, incr_wraps_and_decr_stops_at_zero_and_pads_with_blanks) {
  for_each_cut([](memcached_session& client) {
    client.send("set n 3 0 3\r\n100\r\n");
    EXPECT_EQ(client.send("decr n 1\r\nget n\r\n"), "99\r\nVALUE n 3 3\r\n99 \r\nEND\r\n");
    EXPECT_EQ(client.send("decr n 100\r\nget n\r\n"), "0\r\nVALUE n 3 3\r\n0  \r\nEND\r\n");
    EXPECT_EQ(client.send("incr n 18446744073709551615\r\nincr n 2\r\n"),
              "18446744073709551615\r\n1\r\n");
    EXPECT_EQ(client.send("get n\r\n"), "VALUE n 3 20\r\n1                   \r\nEND\r\n");
    EXPECT_EQ(client.send("incr absent 1\r\ndecr absent 1\r\n"), "NOT_FOUND\r\nNOT_FOUND\r\n");
  });
}

TEST(MemcachedText, a_long_number_is_padded_to_its_old_length) {
  for_each_cut([](memcached_session& client) {
    client.send("set n 0 0 300\r\n" + std::string(299, ' ') + "5\r\n");
    EXPECT_EQ(client.send("incr n 1\r\nget n\r\n"),
              "6\r\nVALUE n 0 300\r\n6" + std::string(299, ' ') + "\r\nEND\r\n");
  });
}

TEST(MemcachedText, values_and_deltas_that_are_no_numbers_are_refused) {
  for_each_cut([](memcached_session& client) {
    const std::string problem = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
    client.send(
        "set a 0 0 1\r\nx\r\nset e 0 0 0\r\n\r\nset m 0 0 2\r\n-5\r\nset p 0 0 3\r\n5 x\r\n");
    client.send("set big 0 0 20\r\n18446744073709551616\r\n");
    EXPECT_EQ(client.send("incr a 1\r\nincr e 1\r\ndecr m 1\r\nincr big 1\r\n"),
              problem + problem + problem + problem);
    EXPECT_EQ(client.send("incr p 1\r\nincr p x\r\nincr p -1\r\n"),
              "6\r\nCLIENT_ERROR invalid numeric delta argument\r\n"
              "CLIENT_ERROR invalid numeric delta argument\r\n");
  });
}

TEST(MemcachedText, a_line_ends_at_its_first_byte_of_value_0) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\nx\r\nset b 0 0 1\r\ny\r\n");
    EXPECT_EQ(client.send(std::string_view("get a\0 b\r\n", 10)), "VALUE a 0 1\r\nx\r\nEND\r\n");
  });
}

TEST(MemcachedText, a_counted_number_keeps_its_time_and_flags) {
  for_each_cut([](memcached_session& client) {
    client.send("set n 7 100 1\r\n5\r\nincr n 1\r\nincr n 100\r\n");
    EXPECT_EQ(client.send("get n\r\n"), "VALUE n 7 3\r\n106\r\nEND\r\n");
    client.now_ms += 100'000;
    EXPECT_EQ(client.send("get n\r\n"), "END\r\n");
  });
}

TEST(MemcachedText, delete_removes_an_item) {
  for_each_cut([](memcached_session& client) {
    const std::string usage =
        "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n";
    client.send("set a 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("delete a 0\r\ndelete a\r\nget a\r\n"),
              "DELETED\r\nNOT_FOUND\r\nEND\r\n");
    EXPECT_EQ(client.send("delete a 1\r\ndelete a 0 1\r\ndelete a 1 2 3\r\n"),
              usage + usage + "ERROR\r\n");
    EXPECT_EQ(client.send("delete a noreply\r\ndelete a 0 noreply\r\n"), "");
  });
}

TEST(MemcachedText, times_are_relative_up_to_30_days_and_absolute_beyond) {
  for_each_cut([](memcached_session& client) {
    const std::int64_t start = client.now_ms / 1000;
    client.send("set never 0 0 1\r\nx\r\nset gone 0 -1 1\r\nx\r\nset rel 0 2592000 1\r\nx\r\n");
    client.send("set past 0 2592001 1\r\nx\r\n");
    client.send("set abs 0 " + std::to_string(start + 50) + " 1\r\nx\r\n");
    const std::string never = "VALUE never 0 1\r\nx\r\n";
    const std::string rel = "VALUE rel 0 1\r\nx\r\n";
    EXPECT_EQ(client.send("get never gone rel past abs\r\n"),
              never + rel + "VALUE abs 0 1\r\nx\r\nEND\r\n");
    client.now_ms += 50'000;
    EXPECT_EQ(client.send("get never rel abs\r\n"), never + rel + "END\r\n");
    client.now_ms += 2'592'000'000;
    EXPECT_EQ(client.send("get never rel abs\r\n"), never + "END\r\n");
  });
}

TEST(MemcachedText, touch_and_gat_change_the_time) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 10 1\r\nx\r\nset b 0 10 1\r\nx\r\n");
    EXPECT_EQ(client.send("touch a 100\r\ntouch absent 1\r\ntouch a x\r\n"),
              "TOUCHED\r\nNOT_FOUND\r\nCLIENT_ERROR invalid exptime argument\r\n");
    EXPECT_EQ(client.send("gat 100 b absent\r\n"), "VALUE b 0 1\r\nx\r\nEND\r\n");
    client.now_ms += 50'000;
    EXPECT_EQ(client.send("get a b\r\n"), "VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\nx\r\nEND\r\n");
    EXPECT_EQ(client.send("gat -1 a b\r\nget a b\r\n"),
              "VALUE a 0 1\r\nx\r\nVALUE b 0 1\r\nx\r\nEND\r\nEND\r\n");
    EXPECT_EQ(client.send("gat\r\ngat 0\r\ngats x a\r\n"),
              "ERROR\r\nEND\r\nCLIENT_ERROR invalid exptime argument\r\n");
  });
}

TEST(MemcachedText, flush_all_removes_what_was_stored_before) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("flush_all\r\nget a\r\n"), "OK\r\nEND\r\n");
    EXPECT_EQ(client.send("set a 0 0 1\r\nx\r\nget a\r\n"),
              "STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    EXPECT_EQ(client.send("flush_all x\r\nflush_all 0 1 2\r\nflush_all -1\r\nget a\r\n"),
              "CLIENT_ERROR invalid exptime argument\r\nERROR\r\nOK\r\nEND\r\n");
  });
}

TEST(MemcachedText, flush_all_with_a_delay_removes_what_is_stored_until_then) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("flush_all 10\r\nget a\r\n"), "OK\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
    client.now_ms += 9'000;
    client.send("set b 0 0 1\r\nx\r\n");
    EXPECT_EQ(client.send("get b\r\n"), "VALUE b 0 1\r\nx\r\nEND\r\n");
    client.now_ms += 1'000;
    EXPECT_EQ(client.send("set c 0 0 1\r\nx\r\nget a b c\r\n"),
              "STORED\r\nVALUE c 0 1\r\nx\r\nEND\r\n");
  });
}

TEST(MemcachedText, noreply_suppresses_every_reply_of_a_command) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("set n 0 0 1 noreply\r\n5\r\nadd n 0 0 1 noreply\r\n6\r\n"), "");
    EXPECT_EQ(client.send("incr n 1 noreply\r\ndecr n x noreply\r\ntouch n 0 noreply\r\n"), "");
    EXPECT_EQ(client.send("cas n 0 0 1 5 noreply\r\n5\r\nset n 0 0 1 noreply\r\nxx\r\n"),
              "ERROR\r\n");
    EXPECT_EQ(client.send("get n\r\nflush_all noreply\r\nverbosity 1 noreply\r\nget n\r\n"),
              "VALUE n 0 1\r\n6\r\nEND\r\nEND\r\n");
  });
}

TEST(MemcachedText, a_key_of_251_bytes_is_refused) {
  for_each_cut([](memcached_session& client) {
    const std::string bad = "CLIENT_ERROR bad command line format\r\n";
    const std::string longest(250, 'k');
    const std::string longer(251, 'k');
    EXPECT_EQ(client.send("set " + longest + " 0 0 1\r\nx\r\n"), "STORED\r\n");
    EXPECT_EQ(client.send("get " + longest + "\r\n"), "VALUE " + longest + " 0 1\r\nx\r\nEND\r\n");
    EXPECT_EQ(client.send("get " + longer + "\r\ntouch " + longer + " 0\r\n"), bad + bad);
    EXPECT_EQ(client.send("get " + longest + " " + longer + "\r\n"), bad);
    EXPECT_EQ(client.send("delete " + longer + "\r\nincr " + longer + " 1\r\n"), bad + bad);
    EXPECT_EQ(client.send("set " + longer + " 0 0 1\r\nx\r\n"), bad + "ERROR\r\n");
  });
}

TEST(MemcachedText, malformed_commands_are_errors_and_the_connection_continues) {
  for_each_cut([](memcached_session& client) {
    const std::string bad = "CLIENT_ERROR bad command line format\r\n";
    EXPECT_EQ(client.send("\r\n \r\n\nfoo\r\nGET a\r\nget\r\nget \r\nset a 0 0\r\n"),
              "ERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\nERROR\r\n");
    EXPECT_EQ(client.send("set a x 0 1\r\nset a 0 x 1\r\nset a 0 0 x\r\nset a 0 0 -1\r\n"),
              bad + bad + bad + bad);
    EXPECT_EQ(client.send("set a 0 0 2147483646\r\nset a -1 0 1\r\nset a 0 0 1 2 3\r\n"),
              bad + bad + "ERROR\r\n");
    EXPECT_EQ(client.send("\xff\x80\x01 garbage\r\nmn\r\n"), "ERROR\r\nMN\r\n");
    EXPECT_EQ(client.send(std::string_view("get a\0b c\r\n\0get a\r\nmn\n", 23)),
              "END\r\nERROR\r\nMN\r\n");
  });
}

TEST(MemcachedText, cache_memlimit_changes_the_bound) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(client.send("cache_memlimit 64\r\n"),
              "SERVER_ERROR the cache does not evict items\r\n");
    client.space.set_limit(std::uint64_t{16} << 20);
    EXPECT_EQ(client.send("cache_memlimit 64\r\ncache_memlimit 32 noreply\r\n"), "OK\r\n");
    EXPECT_EQ(client.space.limit_bytes(), std::uint64_t{32} << 20);
    EXPECT_EQ(client.send("cache_memlimit 7\r\ncache_memlimit x\r\ncache_memlimit\r\n"),
              "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\nERROR\r\nERROR\r\n");
    EXPECT_EQ(client.send("cache_memlimit 1000000001\r\n"),
              "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n");
    EXPECT_EQ(client.space.limit_bytes(), std::uint64_t{32} << 20);
    EXPECT_EQ(client.send("stats cachedump 1 1\r\nstats cachedump\r\n"),
              "END\r\nCLIENT_ERROR bad command line\r\n");
  });
}

TEST(MemcachedText, version_verbosity_and_quit) {
  for_each_cut([](memcached_session& client) {
    client.options.version = "1.2.3";
    EXPECT_EQ(client.send("version\r\nversion x y\r\n"), "VERSION 1.2.3\r\nVERSION 1.2.3\r\n");
    EXPECT_EQ(client.send("verbosity 1\r\nverbosity\r\nverbosity x\r\n"),
              "OK\r\nERROR\r\nCLIENT_ERROR bad command line format\r\n");
    EXPECT_FALSE(client.closed);
    EXPECT_EQ(client.send("quit\r\nversion\r\n"), "");
    EXPECT_TRUE(client.closed);
  });
}

TEST(MemcachedText, shutdown_is_refused_unless_it_is_enabled) {
  for_each_cut([](memcached_session& client) {
    std::string calls;
    EXPECT_EQ(client.send("shutdown\r\n"), "ERROR: shutdown not enabled\r\n");
    client.options.shut_down = [&](bool is_graceful) { calls += is_graceful ? 'g' : 'i'; };
    EXPECT_EQ(client.send("shutdown x\r\n"), "CLIENT_ERROR invalid shutdown mode\r\n");
    EXPECT_EQ(client.send("shutdown graceful\r\n"), "");
    EXPECT_TRUE(client.closed);
    client.reconnect();
    client.send("shutdown\r\n");
    EXPECT_EQ(calls, "gi");
  });
}

TEST(MemcachedText, stats_counts_what_was_done) {
  for_each_cut([](memcached_session& client) {
    client.options.started_ms = client.now_ms - 5'000;
    client.send(
        "set a 0 0 2\r\n10\r\nget a b a\r\nincr a 1\r\ndelete a\r\ndelete a\r\ntouch b 1\r\n");
    client.send("set c 0 0 1\r\nx\r\ncas c 0 0 1 1\r\nx\r\ngat 0 c\r\nmg c\r\n");
    const std::string stats = client.send("stats\r\n");
    for (const char* line :
         {"uptime 5", "cmd_get 5", "get_hits 4", "get_misses 1", "incr_hits 1", "delete_hits 1",
          "delete_misses 1", "touch_misses 1", "touch_hits 1", "cas_badval 1", "curr_items 1",
          "bytes 2", "total_items 2", "cmd_meta 1", "curr_connections 1", "total_connections 1"}) {
      EXPECT_NE(stats.find("STAT " + std::string(line) + "\r\n"), std::string::npos)
          << line << " in " << stats;
    }
    EXPECT_NE(stats.find("STAT outlast_guarantee Data survives nothing"), std::string::npos);
    EXPECT_TRUE(stats.ends_with("END\r\n"));
    EXPECT_EQ(client.send("stats reset\r\n"), "RESET\r\n");
    EXPECT_NE(client.send("stats\r\n").find("STAT cmd_get 0\r\n"), std::string::npos);
  });
}

TEST(MemcachedText, stats_of_settings_items_slabs_and_prefixes) {
  for_each_cut([](memcached_session& client) {
    EXPECT_NE(client.send("stats settings\r\n").find("STAT item_size_max 1048576\r\n"),
              std::string::npos);
    EXPECT_EQ(client.send("stats items\r\n"), "END\r\n");
    client.send("set a 0 0 1\r\nx\r\n");
    EXPECT_TRUE(client.send("stats items\r\n").starts_with("STAT items:1:number 1\r\n"));
    EXPECT_NE(client.send("stats slabs\r\n").find("STAT 1:cmd_set 1\r\n"), std::string::npos);
    EXPECT_EQ(client.send("stats detail on\r\nstats detail dump\r\nstats detail off\r\n"),
              "OK\r\nEND\r\nOK\r\n");
    EXPECT_EQ(client.send("stats detail\r\nstats sizes\r\nstats foo\r\n"),
              "CLIENT_ERROR usage: stats detail on|off|dump\r\n"
              "STAT sizes_status disabled\r\nEND\r\nERROR\r\n");
  });
}

TEST(MemcachedText, reads_count_as_uses_and_other_commands_do_not) {
  for_each_cut([](memcached_session& client) {
    client.send("set a 0 0 1\r\n5\r\nincr a 1\r\nadd a 0 0 1\r\n5\r\n");
    EXPECT_EQ(client.send("mg a h u\r\n"), "HD h0\r\n");
    client.send("get a\r\n");
    EXPECT_EQ(client.send("mg a h u\r\nincr a 1\r\nmg a h u\r\n"), "HD h1\r\n7\r\nHD h1\r\n");
    client.send("set a 0 0 1\r\n5\r\ngat 0 a\r\n");
    EXPECT_EQ(client.send("mg a h u\r\n"), "HD h1\r\n");
    client.send("set a 0 0 1\r\n5\r\ntouch a 0\r\n");
    EXPECT_EQ(client.send("mg a h u\r\n"), "HD h1\r\n");
  });
}

}  // namespace
}  // namespace outlast::server
