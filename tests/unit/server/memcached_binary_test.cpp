// Goal: the commands of memcached's binary protocol have the effects and the replies of memcached
// 1.6.18, and replies carry the token they depend on.
// Method: a connection to a key space in ordinary memory; each input is sent whole and cut at every
// byte. The expected replies are those of a real memcached.
#include <outlast/base/error.hpp>
#include <tests/support/memcached_binary.hpp>
#include <tests/support/memcached_session.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace outlast::server {
namespace {

using test::for_each_cut;
using test::memcached_session;
using test::binary::bytes_of;
using test::binary::counted;
using test::binary::number;
using test::binary::request;
using test::binary::stored;

constexpr std::uint8_t get = 0x00, set = 0x01, add = 0x02, replace = 0x03, remove = 0x04,
                       increment = 0x05, decrement = 0x06, quit = 0x07, flush = 0x08, getq = 0x09,
                       noop = 0x0a, version = 0x0b, getk = 0x0c, getkq = 0x0d, append = 0x0e,
                       prepend = 0x0f, stat = 0x10, setq = 0x11, addq = 0x12, replaceq = 0x13,
                       removeq = 0x14, incrementq = 0x15, decrementq = 0x16, quitq = 0x17,
                       flushq = 0x18, appendq = 0x19, prependq = 0x1a, verbosity = 0x1b,
                       touch = 0x1c, gat = 0x1d, gatq = 0x1e, gatk = 0x23, gatkq = 0x24;

std::string send(memcached_session& client, const request& what) {
  return test::binary::text_of(client.send(bytes_of(what)));
}

void set_value(memcached_session& client, const std::string& key, const std::string& value,
               std::uint32_t flags = 0, std::uint32_t seconds = 0) {
  EXPECT_EQ(
      send(client, {.opcode = setq, .key = key, .extras = stored(flags, seconds), .value = value}),
      "");
}

/// Returns the value of a key, "(absent)" if it is.
std::string value_of(memcached_session& client, const std::string& key) {
  const std::string reply = client.send(bytes_of({.opcode = get, .key = key}));
  const bool is_there = test::binary::number_at<std::uint16_t>(reply, 6) == 0;
  return is_there ? reply.substr(test::binary::head_bytes + 4) : "(absent)";
}

TEST(MemcachedBinary, a_value_is_stored_and_returned_with_its_flags_and_number) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(send(client, {.opcode = set, .key = "a", .extras = stored(5), .value = "x\n"}),
              "01 0 #1\n");
    EXPECT_EQ(send(client, {.opcode = get, .key = "a"}), "00 0 #1 e=\\00\\00\\00\\05 v=x\\0a\n");
    EXPECT_EQ(send(client, {.opcode = get, .key = "b"}), "00 1 #0 v=Not found\n");
    EXPECT_EQ(send(client, {.opcode = getk, .key = "a"}),
              "0c 0 #1 e=\\00\\00\\00\\05 k=a v=x\\0a\n");
    EXPECT_EQ(send(client, {.opcode = getk, .key = "b"}), "0c 1 #0 k=b\n");
    EXPECT_EQ(send(client, {.opcode = set, .key = "e", .extras = stored(0xfedcba98)}), "01 0 #2\n");
    EXPECT_EQ(send(client, {.opcode = get, .key = "e"}), "00 0 #2 e=\\fe\\dc\\ba\\98\n");
  });
}

TEST(MemcachedBinary, quiet_reads_answer_hits_only) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x");
    EXPECT_EQ(send(client, {.opcode = getq, .key = "b"}), "");
    EXPECT_EQ(send(client, {.opcode = getq, .key = "a"}), "09 0 #1 e=\\00\\00\\00\\00 v=x\n");
    EXPECT_EQ(send(client, {.opcode = getkq, .key = "b"}), "");
    EXPECT_EQ(send(client, {.opcode = getkq, .key = "a"}), "0d 0 #1 e=\\00\\00\\00\\00 k=a v=x\n");
    EXPECT_EQ(send(client, {.opcode = gatq, .key = "b", .extras = number(0U)}), "");
    EXPECT_EQ(send(client, {.opcode = gatkq, .key = "b", .extras = number(0U)}), "");
    EXPECT_EQ(send(client, {.opcode = gatkq, .key = "a", .extras = number(0U)}),
              "24 0 #1 e=\\00\\00\\00\\00 k=a v=x\n");
  });
}

TEST(MemcachedBinary, the_opaque_is_returned_and_the_type_of_data_is_ignored) {
  for_each_cut([](memcached_session& client) {
    const std::string reply = client.send(
        bytes_of({.opcode = noop, .opaque = 0x01020304, .data_type = 9, .bucket = 300}));
    EXPECT_EQ(reply, std::string("\x81\x0a", 2) + std::string(10, '\0') + "\x01\x02\x03\x04" +
                         std::string(8, '\0'));
  });
}

TEST(MemcachedBinary, add_and_replace_store_if_the_key_is_absent_or_present) {
  for_each_cut([](memcached_session& client) {
    const request as_replace{.opcode = replace, .key = "a", .extras = stored(), .value = "1"};
    const request as_add{.opcode = add, .key = "a", .extras = stored(), .value = "2"};
    EXPECT_EQ(send(client, as_replace), "03 1 #0 v=Not found\n");
    EXPECT_EQ(send(client, as_add), "02 0 #1\n");
    EXPECT_EQ(send(client, as_add), "02 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(send(client, as_replace), "03 0 #2\n");
    EXPECT_EQ(value_of(client, "a"), "1");
  });
}

TEST(MemcachedBinary, quiet_changes_answer_errors_only) {
  for_each_cut([](memcached_session& client) {
    const auto with = [&](std::uint8_t opcode, const std::string& key, const std::string& value) {
      return send(client, {.opcode = opcode, .key = key, .extras = stored(), .value = value});
    };
    EXPECT_EQ(with(replaceq, "a", "1"), "13 1 #0 v=Not found\n");
    EXPECT_EQ(with(addq, "a", "2"), "");
    EXPECT_EQ(with(addq, "a", "3"), "12 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(with(replaceq, "a", "4"), "");
    EXPECT_EQ(with(setq, "a", "m"), "");
    EXPECT_EQ(send(client, {.opcode = appendq, .key = "a", .value = "z"}), "");
    EXPECT_EQ(send(client, {.opcode = prependq, .key = "a", .value = "b"}), "");
    EXPECT_EQ(value_of(client, "a"), "bmz");
    EXPECT_EQ(send(client, {.opcode = appendq, .key = "b", .value = "z"}),
              "19 5 #0 v=Not stored.\n");
    EXPECT_EQ(send(client, {.opcode = prependq, .key = "b", .value = "z"}),
              "1a 5 #0 v=Not stored.\n");
    EXPECT_EQ(send(client, {.opcode = removeq, .key = "a"}), "");
    EXPECT_EQ(send(client, {.opcode = removeq, .key = "a"}), "14 1 #0 v=Not found\n");
    EXPECT_EQ(send(client, {.opcode = incrementq, .key = "n", .extras = counted(1, 5)}), "");
    EXPECT_EQ(send(client, {.opcode = decrementq, .key = "n", .extras = counted(1)}), "");
    EXPECT_EQ(value_of(client, "n"), "4");
    EXPECT_EQ(send(client, {.opcode = flushq}), "");
    EXPECT_EQ(value_of(client, "n"), "(absent)");
  });
}

TEST(MemcachedBinary, a_request_with_a_number_changes_that_version_only) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "1");
    const auto with = [&](std::uint8_t opcode, const std::string& key, std::uint64_t unique) {
      return send(
          client,
          {.opcode = opcode, .key = key, .extras = stored(), .value = "v", .unique = unique});
    };
    EXPECT_EQ(with(set, "a", 9), "01 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(with(set, "b", 9), "01 1 #0 v=Not found\n");
    EXPECT_EQ(with(add, "b", 9), "02 1 #0 v=Not found\n");
    EXPECT_EQ(with(replace, "a", 9), "03 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(with(set, "a", 1), "01 0 #2\n");
    EXPECT_EQ(with(add, "a", 2), "02 0 #3\n") << "only the number decides, as in memcached";
    EXPECT_EQ(send(client, {.opcode = append, .key = "a", .value = "w", .unique = 9}),
              "0e 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(send(client, {.opcode = append, .key = "a", .value = "w", .unique = 3}), "0e 0 #4\n");
    EXPECT_EQ(send(client, {.opcode = append, .key = "b", .value = "w", .unique = 3}),
              "0e 5 #0 v=Not stored.\n");
    EXPECT_EQ(send(client, {.opcode = remove, .key = "a", .unique = 3}),
              "04 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(send(client, {.opcode = remove, .key = "b", .unique = 3}), "04 1 #0 v=Not found\n");
    EXPECT_EQ(send(client, {.opcode = remove, .key = "a", .unique = 4}), "04 0 #0\n");
  });
}

TEST(MemcachedBinary, append_and_prepend_keep_flags_and_time) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(send(client, {.opcode = append, .key = "a", .value = "z"}),
              "0e 5 #0 v=Not stored.\n");
    EXPECT_EQ(send(client, {.opcode = prepend, .key = "a", .value = "z"}),
              "0f 5 #0 v=Not stored.\n");
    set_value(client, "a", "m", 7, 100);
    EXPECT_EQ(send(client, {.opcode = append, .key = "a", .value = "yz"}), "0e 0 #2\n");
    EXPECT_EQ(send(client, {.opcode = prepend, .key = "a", .value = "ab"}), "0f 0 #3\n");
    EXPECT_EQ(send(client, {.opcode = get, .key = "a"}), "00 0 #3 e=\\00\\00\\00\\07 v=abmyz\n");
    client.now_ms += 100'000;
    EXPECT_EQ(value_of(client, "a"), "(absent)");
  });
}

TEST(MemcachedBinary, an_item_is_removed_once) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x");
    EXPECT_EQ(send(client, {.opcode = remove, .key = "a"}), "04 0 #0\n");
    EXPECT_EQ(send(client, {.opcode = remove, .key = "a"}), "04 1 #0 v=Not found\n");
  });
}

TEST(MemcachedBinary, numbers_are_created_unless_their_time_forbids_it) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(send(client, {.opcode = increment, .key = "n", .extras = counted(2, 7, 0xffffffff)}),
              "05 1 #0 v=Not found\n");
    EXPECT_EQ(send(client, {.opcode = increment, .key = "n", .extras = counted(2, 7, 10)}),
              "05 0 #1 v=\\00\\00\\00\\00\\00\\00\\00\\07\n");
    EXPECT_EQ(send(client, {.opcode = increment, .key = "n", .extras = counted(2, 7, 0xffffffff)}),
              "05 0 #2 v=\\00\\00\\00\\00\\00\\00\\00\\09\n");
    EXPECT_EQ(value_of(client, "n"), "9");
    client.now_ms += 10'000;
    EXPECT_EQ(send(client, {.opcode = decrement, .key = "n", .extras = counted(2, 3)}),
              "06 0 #3 v=\\00\\00\\00\\00\\00\\00\\00\\03\n");
    EXPECT_EQ(send(client, {.opcode = decrementq, .key = "o", .extras = counted(2, 3, 0xffffffff)}),
              "16 1 #0 v=Not found\n");
  });
}

TEST(MemcachedBinary, numbers_have_64_bits_and_wrap_around_or_stop_at_0) {
  for_each_cut([](memcached_session& client) {
    EXPECT_EQ(send(client, {.opcode = increment, .key = "n", .extras = counted(1, ~0ULL)}),
              "05 0 #1 v=\\ff\\ff\\ff\\ff\\ff\\ff\\ff\\ff\n");
    EXPECT_EQ(value_of(client, "n"), "18446744073709551615");
    EXPECT_EQ(send(client, {.opcode = increment, .key = "n", .extras = counted(3)}),
              "05 0 #2 v=\\00\\00\\00\\00\\00\\00\\00\\02\n");
    EXPECT_EQ(value_of(client, "n"), "2                   ") << "padded, as in memcached";
    EXPECT_EQ(send(client, {.opcode = decrement, .key = "n", .extras = counted(~0ULL)}),
              "06 0 #3 v=\\00\\00\\00\\00\\00\\00\\00\\00\n");
  });
}

TEST(MemcachedBinary, what_is_no_number_or_has_another_number_is_not_counted) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x");
    set_value(client, "n", "5");
    EXPECT_EQ(send(client, {.opcode = increment, .key = "a", .extras = counted(1)}),
              "05 6 #0 v=Non-numeric server-side value for incr or decr\n");
    EXPECT_EQ(send(client, {.opcode = incrementq, .key = "a", .extras = counted(1)}),
              "15 6 #0 v=Non-numeric server-side value for incr or decr\n");
    EXPECT_EQ(send(client, {.opcode = decrement, .key = "n", .extras = counted(1), .unique = 1}),
              "06 2 #0 v=Data exists for key.\n");
    EXPECT_EQ(send(client, {.opcode = decrement, .key = "n", .extras = counted(1), .unique = 2}),
              "06 0 #3 v=\\00\\00\\00\\00\\00\\00\\00\\04\n");
    EXPECT_EQ(send(client, {.opcode = increment, .key = "o", .extras = counted(1, 8), .unique = 5}),
              "05 0 #4 v=\\00\\00\\00\\00\\00\\00\\00\\08\n");
  });
}

TEST(MemcachedBinary, touch_and_gat_change_the_time) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x", 5, 10);
    EXPECT_EQ(send(client, {.opcode = touch, .key = "a", .extras = number(20U)}),
              "1c 0 #1 e=\\00\\00\\00\\05\n");
    EXPECT_EQ(send(client, {.opcode = touch, .key = "b", .extras = number(20U)}),
              "1c 1 #0 v=Not found\n");
    client.now_ms += 15'000;
    EXPECT_EQ(send(client, {.opcode = gat, .key = "a", .extras = number(100U)}),
              "1d 0 #1 e=\\00\\00\\00\\05 v=x\n");
    EXPECT_EQ(send(client, {.opcode = gat, .key = "b", .extras = number(100U)}),
              "1d 1 #0 v=Not found\n");
    client.now_ms += 99'000;
    EXPECT_EQ(send(client, {.opcode = gatk, .key = "a", .extras = number(2'592'001U)}),
              "23 0 #1 e=\\00\\00\\00\\05 k=a v=x\n");
    EXPECT_EQ(send(client, {.opcode = gatk, .key = "a", .extras = number(0U)}), "23 1 #0 k=a\n");
    set_value(client, "c", "y", 0, 1);
    EXPECT_EQ(send(client, {.opcode = gatq, .key = "c", .extras = number(0U)}),
              "1e 0 #2 e=\\00\\00\\00\\00 v=y\n");
    client.now_ms += 1'000'000;
    EXPECT_EQ(value_of(client, "c"), "y");
  });
}

TEST(MemcachedBinary, times_are_relative_up_to_30_days_and_have_no_sign) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x", 0, 2'592'000);
    set_value(client, "b", "x", 0, 2'592'001);
    set_value(client, "c", "x", 0, 0xfffffffe);
    EXPECT_EQ(value_of(client, "b"), "(absent)") << "in 1970";
    client.now_ms += 2'591'999'000;
    EXPECT_EQ(value_of(client, "a"), "x");
    client.now_ms += 1'000;
    EXPECT_EQ(value_of(client, "a"), "(absent)");
    EXPECT_EQ(value_of(client, "c"), "x") << "until 2106";
    client.now_ms = std::int64_t{0xfffffffe} * 1000;
    EXPECT_EQ(value_of(client, "c"), "(absent)");
  });
}

TEST(MemcachedBinary, flush_removes_all_items_now_or_later) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x");
    EXPECT_EQ(send(client, {.opcode = flush}), "08 0 #0\n");
    EXPECT_EQ(value_of(client, "a"), "(absent)");
    set_value(client, "a", "x");
    EXPECT_EQ(send(client, {.opcode = flush, .extras = number(10U)}), "08 0 #0\n");
    EXPECT_EQ(value_of(client, "a"), "x");
    client.now_ms += 10'000;
    EXPECT_EQ(value_of(client, "a"), "(absent)");
    set_value(client, "a", "x");
    EXPECT_EQ(send(client, {.opcode = flushq, .extras = number(0U)}), "");
    EXPECT_EQ(value_of(client, "a"), "(absent)");
  });
}

TEST(MemcachedBinary, noop_version_verbosity_and_quit) {
  for_each_cut([](memcached_session& client) {
    client.options.version = "1.2.3";
    EXPECT_EQ(send(client, {.opcode = noop}), "0a 0 #0\n");
    EXPECT_EQ(send(client, {.opcode = version}), "0b 0 #0 v=1.2.3\n");
    EXPECT_EQ(send(client, {.opcode = verbosity, .extras = number(1U)}), "1b 0 #0\n");
    EXPECT_FALSE(client.closed);
    EXPECT_EQ(send(client, {.opcode = quit}), "07 0 #0\n");
    EXPECT_TRUE(client.closed);
    client.reconnect();
    EXPECT_EQ(test::binary::text_of(
                  client.send(bytes_of({.opcode = quitq}) + bytes_of({.opcode = noop}))),
              "");
    EXPECT_TRUE(client.closed);
  });
}

TEST(MemcachedBinary, stat_answers_each_number_and_an_empty_reply) {
  for_each_cut([](memcached_session& client) {
    set_value(client, "a", "x");
    (void)value_of(client, "a");
    const std::string all = send(client, {.opcode = stat});
    for (const char* line : {"10 0 #0 k=cmd_get v=1\n", "10 0 #0 k=get_hits v=1\n",
                             "10 0 #0 k=curr_items v=1\n", "10 0 #0 k=curr_connections v=1\n",
                             "10 0 #0 k=outlast_guarantee v=Data survives nothing"}) {
      EXPECT_NE(all.find(line), std::string::npos) << line << " in " << all;
    }
    EXPECT_TRUE(all.ends_with("\n10 0 #0\n")) << all;
    const auto of = [&](const char* key) { return send(client, {.opcode = stat, .key = key}); };
    EXPECT_NE(of("settings").find("10 0 #0 k=binding_protocol v=binary\n"), std::string::npos);
    EXPECT_TRUE(of("items").starts_with("10 0 #0 k=items:1:number v=1\n"));
    EXPECT_NE(of("slabs").find("10 0 #0 k=1:cmd_set v=1\n"), std::string::npos);
    EXPECT_EQ(of("sizes"), "10 0 #0 k=sizes_status v=disabled\n10 0 #0\n");
    EXPECT_EQ(of("detail on") + of("detail off"), "10 0 #0\n10 0 #0\n");
    EXPECT_EQ(of("detail dump"), "10 0 #0 k=detailed v=END\\0d\\0a\n10 0 #0\n");
    EXPECT_EQ(of("detail") + of("conns") + of("x"),
              "10 1 #0 v=Not found\n10 1 #0 v=Not found\n10 1 #0 v=Not found\n");
    EXPECT_EQ(of("reset"), "10 0 #0\n");
    EXPECT_NE(send(client, {.opcode = stat}).find("k=cmd_get v=0\n"), std::string::npos);
  });
}

TEST(MemcachedBinary, requests_that_arrive_together_are_answered_in_order) {
  for_each_cut([](memcached_session& client) {
    const std::string all =
        bytes_of({.opcode = setq, .key = "a", .extras = stored(), .value = "x"}) +
        bytes_of({.opcode = getkq, .key = "b"}) + bytes_of({.opcode = getkq, .key = "a"}) +
        bytes_of({.opcode = noop});
    EXPECT_EQ(test::binary::text_of(client.send(all)),
              "0d 0 #1 e=\\00\\00\\00\\00 k=a v=x\n0a 0 #0\n");
  });
}

TEST(MemcachedBinary, replies_carry_the_token_of_what_they_change_and_show) {
  for_each_cut([](memcached_session& client) {
    const auto token_of = [&](const request& what) {
      client.version = 0;
      client.send(bytes_of(what));
      return client.version;
    };
    set_value(client, "a", "1");
    set_value(client, "b", "2");
    EXPECT_EQ(token_of({.opcode = get, .key = "a"}), 1U);
    EXPECT_EQ(token_of({.opcode = get, .key = "absent"}), 2U) << "the erasure may be young";
    EXPECT_EQ(token_of({.opcode = add, .key = "a", .extras = stored()}), 1U);
    EXPECT_EQ(token_of({.opcode = noop}), 0U);
    EXPECT_EQ(token_of({.opcode = setq, .key = "a", .extras = stored(), .value = "1"}), 3U);
    EXPECT_EQ(token_of({.opcode = touch, .key = "a", .extras = number(9U)}), 4U);
    EXPECT_EQ(token_of({.opcode = increment, .key = "a", .extras = counted(9)}), 5U);
    EXPECT_EQ(token_of({.opcode = removeq, .key = "a"}), 6U);
    EXPECT_EQ(token_of({.opcode = flushq}), 7U);
    EXPECT_FALSE(client.waits);
  });
}

TEST(MemcachedBinary, long_replies_pause_and_continue) {
  for_each_cut([](memcached_session& client) {
    client.options.max_replies_bytes = 100;
    set_value(client, "a", std::string(90, 'x'));
    std::string all;
    for (int i = 0; i < 5; ++i) all += bytes_of({.opcode = get, .key = "a"});
    EXPECT_EQ(client.send(all).size(), 5U * (24 + 4 + 90));
    if (client.sent == all.size()) {
      EXPECT_EQ(client.pauses, 4U);
    }
  });
}

}  // namespace
}  // namespace outlast::server
