// The functions of the commands.
#pragma once

#include <src/server/resp/request_parser.hpp>

namespace outlast::server::resp {

class session;

/// Each function executes a command whose number of words is accepted, and adds one reply. Throws
/// outlast::error and std::bad_alloc; the caller then removes what was added to the replies.
namespace commands {

void append(session& to, arguments words);
void auth(session& to, arguments words);
void bgrewriteaof(session& to, arguments words);
void bgsave(session& to, arguments words);
void client_durable(session& to, arguments words);
void client_getname(session& to, arguments words);
void client_getredir(session& to, arguments words);
void client_id(session& to, arguments words);
void client_info(session& to, arguments words);
void client_kill(session& to, arguments words);
void client_list(session& to, arguments words);
void client_no_evict(session& to, arguments words);
void client_no_touch(session& to, arguments words);
void client_reply(session& to, arguments words);
void client_setinfo(session& to, arguments words);
void client_setname(session& to, arguments words);
void client_tracking(session& to, arguments words);
void client_unblock(session& to, arguments words);
void client_unpause(session& to, arguments words);
void command(session& to, arguments words);
void command_count(session& to, arguments words);
void command_docs(session& to, arguments words);
void command_getkeys(session& to, arguments words);
void command_info(session& to, arguments words);
void command_list(session& to, arguments words);
void config_get(session& to, arguments words);
void config_resetstat(session& to, arguments words);
void config_set(session& to, arguments words);
void copy(session& to, arguments words);
void dbsize(session& to, arguments words);
void debug(session& to, arguments words);
void decr(session& to, arguments words);
void decrby(session& to, arguments words);
void del(session& to, arguments words);
void discard(session& to, arguments words);
void echo(session& to, arguments words);
void exec(session& to, arguments words);
void exists(session& to, arguments words);
void expire(session& to, arguments words);
void expireat(session& to, arguments words);
void expiretime(session& to, arguments words);
void flushall(session& to, arguments words);
void function_flush(session& to, arguments words);
void function_list(session& to, arguments words);
void get(session& to, arguments words);
void getdel(session& to, arguments words);
void getex(session& to, arguments words);
void getrange(session& to, arguments words);
void getset(session& to, arguments words);
void hello(session& to, arguments words);
void help(session& to, arguments words);
void incr(session& to, arguments words);
void incrby(session& to, arguments words);
void incrbyfloat(session& to, arguments words);
void info(session& to, arguments words);
void keys(session& to, arguments words);
void lastsave(session& to, arguments words);
void latency_doctor(session& to, arguments words);
void latency_histogram(session& to, arguments words);
void latency_history(session& to, arguments words);
void latency_latest(session& to, arguments words);
void latency_reset(session& to, arguments words);
void lcs(session& to, arguments words);
void lolwut(session& to, arguments words);
void memory_doctor(session& to, arguments words);
void memory_purge(session& to, arguments words);
void memory_usage(session& to, arguments words);
void mget(session& to, arguments words);
void mset(session& to, arguments words);
void msetnx(session& to, arguments words);
void multi(session& to, arguments words);
void object_encoding(session& to, arguments words);
void object_freq(session& to, arguments words);
void object_idletime(session& to, arguments words);
void object_refcount(session& to, arguments words);
void persist(session& to, arguments words);
void pexpire(session& to, arguments words);
void pexpireat(session& to, arguments words);
void pexpiretime(session& to, arguments words);
void ping(session& to, arguments words);
void psetex(session& to, arguments words);
void pttl(session& to, arguments words);
void quit(session& to, arguments words);
void randomkey(session& to, arguments words);
void rename(session& to, arguments words);
void renamenx(session& to, arguments words);
void reset(session& to, arguments words);
void role(session& to, arguments words);
void save(session& to, arguments words);
void scan(session& to, arguments words);
void script_exists(session& to, arguments words);
void script_flush(session& to, arguments words);
void select(session& to, arguments words);
void set(session& to, arguments words);
void setex(session& to, arguments words);
void setnx(session& to, arguments words);
void setrange(session& to, arguments words);
void slowlog_get(session& to, arguments words);
void slowlog_len(session& to, arguments words);
void slowlog_reset(session& to, arguments words);
void strlen(session& to, arguments words);
void time(session& to, arguments words);
void touch(session& to, arguments words);
void ttl(session& to, arguments words);
void type(session& to, arguments words);
void unwatch(session& to, arguments words);
void wait(session& to, arguments words);
void waitaof(session& to, arguments words);
void watch(session& to, arguments words);

}  // namespace commands

}  // namespace outlast::server::resp
