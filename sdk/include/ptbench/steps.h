/* Lets ptbench measure the steps of a training program in C or C++.
 *
 *   const ptbench_hello hello = {64, 0, "cpu", "fp32", NULL, NULL};  (64 samples a step)
 *   ptbench_steps* steps = ptbench_steps_open(hello);
 *   while (ptbench_steps_next(steps)) {
 *     ptbench_steps_phase(steps, "forward");
 *     ...
 *     ptbench_steps_loss(steps, loss);
 *   }
 *   ptbench_steps_close(steps);
 *
 * Under `ptbench run --program './train'` the loop tells ptbench when each step began and ended,
 * and goes on for as long as ptbench wants; without ptbench around it, it is endless. The protocol
 * is ptbench.steps/1, docs/steps_protocol.md. Needs C11 or C++11 and POSIX, and nothing else; where
 * the compiler is asked for ISO C alone (-std=c11), include it before other headers. One thread
 * makes all calls.
 */
#ifndef PTBENCH_STEPS_H
#define PTBENCH_STEPS_H

#if !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  PTBENCH_MESSAGE_BYTES = 65536,
  PTBENCH_MOST_STEPS = 1024,    /* in a message */
  PTBENCH_MOST_PHASES = 64,     /* in a step */
  PTBENCH_KEPT_PHASES = 8 * 64, /* in a message */
  PTBENCH_KEPT_WINDOWS = 64,
  PTBENCH_PACE_NS = 50000000 /* between two reports */
};

/* What the process says of itself; zeros are left out. */
typedef struct ptbench_hello {
  int64_t samples; /* that this process trains on in one step, accumulation included; at least 1 */
  int64_t tokens;  /* in one step */
  const char* device;    /* "cpu", "cuda:0" */
  const char* precision; /* "fp32", "tf32", "bf16", "fp16" */
  const char* framework; /* name */
  const char* version;   /* of the framework */
} ptbench_hello;

typedef struct ptbench_step_times {
  int64_t number, begin, end; /* ns of CLOCK_MONOTONIC */
} ptbench_step_times;

typedef struct ptbench_span {
  int64_t number, begin, end;
  char name[24];
} ptbench_span;

typedef struct ptbench_window {
  int64_t first, last; /* steps whose phases are wanted */
} ptbench_window;

/* The loop; its fields are its own business. */
typedef struct ptbench_steps {
  int socket; /* -1: unmeasured, or over */
  pid_t process;
  int measured;
  int wants_phases; /* in this step */
  int64_t number, granted, begin, send_at;
  int64_t loss_number, first_loss_number;
  double loss, first_loss;
  int kept, spans, own_spans, windows;
  int64_t span_begin; /* of the open phase; 0: none is open */
  const char* span_name;
  ptbench_step_times steps[PTBENCH_MOST_STEPS];
  ptbench_span span[PTBENCH_KEPT_PHASES];
  ptbench_window window[PTBENCH_KEPT_WINDOWS];
  char text[PTBENCH_MESSAGE_BYTES + 1];
  char error[512];
} ptbench_steps;

static inline int64_t ptbench_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Ends the measurement with this text, which also goes to standard error; keeps the first one. */
static inline void ptbench_steps_fail(ptbench_steps* steps, const char* text) {
  if (steps->error[0] == '\0') {
    snprintf(steps->error, sizeof steps->error, "%s", text);
    fprintf(stderr, "ptbench: %s\n", steps->error);
  }
  if (steps->socket >= 0) close(steps->socket);
  steps->socket = -1;
}

/* Rank and world size as torchrun, Open MPI, hydra or Slurm set them; 0 of 1 without any of them.
 */
static inline void ptbench_place(int* rank, int* world_size) {
  static const char* const variables[][2] = {{"RANK", "WORLD_SIZE"},
                                             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                             {"PMI_RANK", "PMI_SIZE"},
                                             {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  size_t i;
  *rank = 0;
  *world_size = 1;
  for (i = 0; i < sizeof variables / sizeof variables[0]; ++i) {
    const char* own = getenv(variables[i][0]);
    const char* all = getenv(variables[i][1]);
    if (own != NULL && all != NULL) {
      *rank = atoi(own);
      *world_size = atoi(all);
      return;
    }
  }
}

/* Appends `"name":"value",`, with quotes, backslashes and control characters left out; nothing for
 * NULL. */
static inline void ptbench_put_text(char* text, size_t size, const char* name, const char* value) {
  size_t at = strlen(text);
  if (value == NULL) return;
  at += (size_t)snprintf(text + at, size - at, "\"%s\":\"", name);
  for (; *value != '\0' && at + 4 < size; ++value)
    if (*value != '"' && *value != '\\' && (unsigned char)*value >= ' ') text[at++] = *value;
  snprintf(text + at, size - at, "\",");
}

static inline void ptbench_say_hello(ptbench_steps* steps, const ptbench_hello* hello) {
  char* text = steps->text;
  const size_t size = 2048;
  int rank, world_size;
  ptbench_place(&rank, &world_size);
  snprintf(text, size,
           "{\"protocol\":\"ptbench.steps/1\",\"rank\":%d,\"world_size\":%d,\"samples\":%lld,",
           rank, world_size, (long long)hello->samples);
  ptbench_put_text(text, size, "device", hello->device);
  ptbench_put_text(text, size, "precision", hello->precision);
  if (hello->framework != NULL && hello->version != NULL) {
    strcat(text, "\"framework\":{");
    ptbench_put_text(text, size, "name", hello->framework);
    ptbench_put_text(text, size, "version", hello->version);
    text[strlen(text) - 1] = '}';
    strcat(text, ",");
  }
  if (hello->tokens > 0)
    snprintf(text + strlen(text), size - strlen(text), "\"tokens\":%lld,",
             (long long)hello->tokens);
  snprintf(text + strlen(text), size - strlen(text), "\"pid\":%ld}", (long)getpid());
  if (send(steps->socket, text, strlen(text), MSG_NOSIGNAL) < 0)
    ptbench_steps_fail(steps, "ptbench does not listen at PTBENCH_STEPS");
}

/* The loop of this process, which it makes once; NULL only where there is no memory. Where the loop
 * cannot be measured although PTBENCH_STEPS is set, it has no steps, and ptbench_steps_error says
 * why. */
static inline ptbench_steps* ptbench_steps_open(ptbench_hello hello) {
  const char* path = getenv("PTBENCH_STEPS");
  struct sockaddr_un address;
  ptbench_steps* steps = (ptbench_steps*)calloc(1, sizeof(ptbench_steps));
  if (steps == NULL) return NULL;
  steps->socket = -1;
  steps->process = getpid();
  steps->measured = path != NULL && *path != '\0';
  if (!steps->measured) return steps;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) {
    ptbench_steps_fail(steps, "the path in PTBENCH_STEPS is too long for a socket");
    return steps;
  }
  strcpy(address.sun_path, path);
  steps->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (steps->socket < 0 ||
      connect(steps->socket, (const struct sockaddr*)&address, sizeof address) != 0)
    ptbench_steps_fail(steps, "ptbench does not listen at PTBENCH_STEPS");
  else
    ptbench_say_hello(steps, &hello);
  return steps;
}

/* Behind the string that begins at `text` with a quote. */
static inline const char* ptbench_behind_string(const char* text) {
  for (++text; *text != '\0' && *text != '"'; ++text)
    if (*text == '\\' && text[1] != '\0') ++text;
  return *text == '"' ? text + 1 : text;
}

/* The value of a field of the JSON object `text` itself, not of one inside of it; NULL without it.
 */
static inline const char* ptbench_field(const char* text, const char* name) {
  const size_t length = strlen(name);
  int depth = 0;
  while (*text != '\0') {
    if (*text == '"') {
      const char* behind = ptbench_behind_string(text);
      const char* colon = behind + strspn(behind, " \t\r\n");
      if (depth == 1 && *colon == ':' && (size_t)(behind - text) == length + 2 &&
          strncmp(text + 1, name, length) == 0)
        return colon + 1 + strspn(colon + 1, " \t\r\n");
      text = behind;
      continue;
    }
    if (*text == '{' || *text == '[') ++depth;
    if (*text == '}' || *text == ']') --depth;
    ++text;
  }
  return NULL;
}

static inline void ptbench_take_message(ptbench_steps* steps) {
  const char* error = ptbench_field(steps->text, "error");
  const char* grant = ptbench_field(steps->text, "grant");
  const char* phases = ptbench_field(steps->text, "phases");
  const int64_t granted = grant == NULL ? 0 : strtoll(grant, NULL, 10);
  if (error != NULL && *error == '"') {
    char text[400];
    const char* end = ptbench_behind_string(error);
    snprintf(text, sizeof text, "ptbench ended the measurement: %.*s", (int)(end - error - 2),
             error + 1);
    ptbench_steps_fail(steps, text);
    return;
  }
  if (granted <= steps->granted) return;
  if (phases != NULL && strncmp(phases, "true", 4) == 0 && steps->windows < PTBENCH_KEPT_WINDOWS) {
    steps->window[steps->windows].first = steps->granted + 1;
    steps->window[steps->windows++].last = granted;
  }
  steps->granted = granted;
}

/* Takes one message: 1, or 0 where none has come yet, or -1 at the end of the connection. */
static inline int ptbench_read(ptbench_steps* steps, int flags) {
  ssize_t length;
  do length = recv(steps->socket, steps->text, PTBENCH_MESSAGE_BYTES, flags);
  while (length < 0 && errno == EINTR);
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  if (length <= 0) return -1;
  steps->text[length] = '\0';
  ptbench_take_message(steps);
  return steps->socket >= 0 ? 1 : -1;
}

static inline int ptbench_put_loss(char* text, int64_t number, double loss, const char* comma) {
  const int head = sprintf(text, "%s[%lld,", comma, (long long)number);
  const int all = head + sprintf(text + head, "%.9g]", loss);
  char* digit = text + head;
  /* -ffast-math believes that every number is finite. */
  if (*digit == '-') ++digit;
  if (!isfinite(loss) || *digit < '0' || *digit > '9') return head + sprintf(text + head, "null]");
  for (; *digit != '\0'; ++digit)
    if (*digit == ',') *digit = '.'; /* in some locales */
  return all;
}

/* Tells of the steps that are kept. At most 1,024 steps of 48 bytes and as many phases as fit. */
static inline void ptbench_tell(ptbench_steps* steps) {
  char* at = steps->text;
  int i;
  if (steps->kept == 0 || steps->socket < 0) return;
  at += sprintf(at, "{\"steps\":[");
  for (i = 0; i < steps->kept; ++i)
    at += sprintf(at, "%s[%lld,%lld,%lld]", i == 0 ? "" : ",", (long long)steps->steps[i].number,
                  (long long)steps->steps[i].begin, (long long)steps->steps[i].end);
  if (steps->loss_number > 0) {
    at += sprintf(at, "],\"losses\":[");
    if (steps->first_loss_number > 0 && steps->first_loss_number < steps->loss_number)
      at += ptbench_put_loss(at, steps->first_loss_number, steps->first_loss, "");
    at += ptbench_put_loss(at, steps->loss_number, steps->loss, at[-1] == '[' ? "" : ",");
  }
  if (steps->spans > 0) {
    at += sprintf(at, "],\"phases\":[");
    for (i = 0; i < steps->spans && at - steps->text < PTBENCH_MESSAGE_BYTES - 128; ++i)
      at += sprintf(at, "%s[%lld,\"%s\",%lld,%lld]", i == 0 ? "" : ",",
                    (long long)steps->span[i].number, steps->span[i].name,
                    (long long)steps->span[i].begin, (long long)steps->span[i].end);
  }
  at += sprintf(at, "]}");
  steps->kept = steps->spans = 0;
  steps->loss_number = 0;
  if (steps->first_loss_number > 0) steps->first_loss_number = -1; /* told */
  if (send(steps->socket, steps->text, (size_t)(at - steps->text), MSG_NOSIGNAL) >= 0) return;
  while (ptbench_read(steps, 0) > 0) {
  }
  ptbench_steps_fail(steps, "ptbench is gone, though it had granted more steps");
}

/* Marks that a phase of this step begins now and the one before it ends; NULL: none begins. `name`
 * has to live until then. ptbench knows data, scatter, replicate, forward, gather, backward,
 * reduce, communication, communication_exposed and optimizer; what has another name counts as
 * other. */
static inline void ptbench_steps_phase(ptbench_steps* steps, const char* name) {
  int64_t now;
  if (!steps->wants_phases) return;
  now = ptbench_now();
  if (steps->span_begin > 0 && steps->own_spans < PTBENCH_MOST_PHASES &&
      steps->spans < PTBENCH_KEPT_PHASES) {
    ptbench_span* span = &steps->span[steps->spans++];
    char* letter;
    span->number = steps->number;
    span->begin = steps->span_begin;
    span->end = now;
    snprintf(span->name, sizeof span->name, "%s", steps->span_name);
    for (letter = span->name; *letter != 0; ++letter) /* for JSON */
      if (*letter == '"' || *letter == '\\' || (unsigned char)*letter < ' ') *letter = '_';
    ++steps->own_spans;
  }
  steps->span_begin = name == NULL ? 0 : now;
  steps->span_name = name;
}

/* The loss of this step; of all that are set the first and the newest are told. */
static inline void ptbench_steps_loss(ptbench_steps* steps, double loss) {
  if (steps->first_loss_number == 0) {
    steps->first_loss_number = steps->number;
    steps->first_loss = loss;
  }
  steps->loss_number = steps->number;
  steps->loss = loss;
}

/* The end of the step that is under way: kept, and told where it is time for that. */
static inline void ptbench_end_step(ptbench_steps* steps) {
  ptbench_step_times* times = &steps->steps[steps->kept++];
  int64_t now;
  ptbench_steps_phase(steps, NULL);
  now = ptbench_now();
  times->number = steps->number;
  times->begin = steps->begin;
  times->end = steps->begin = now;
  if (now < steps->send_at && steps->kept < PTBENCH_MOST_STEPS &&
      steps->spans <= PTBENCH_KEPT_PHASES - PTBENCH_MOST_PHASES)
    return;
  ptbench_tell(steps);
  if (steps->socket >= 0 && steps->number < steps->granted) {
    int read;
    do read = ptbench_read(steps, MSG_DONTWAIT);
    while (read > 0);
    if (read < 0) ptbench_steps_fail(steps, "ptbench is gone, though it had granted more steps");
  }
  steps->begin = ptbench_now();
  steps->send_at = steps->begin + PTBENCH_PACE_NS;
}

/* Tells what is kept, and sleeps until the next step is granted: 1, or 0 at the end. */
static inline int ptbench_await_grant(ptbench_steps* steps) {
  ptbench_tell(steps);
  while (steps->socket >= 0 && steps->number >= steps->granted)
    if (ptbench_read(steps, 0) < 0) {
      if (steps->socket >= 0) close(steps->socket);
      steps->socket = -1;
    }
  steps->begin = ptbench_now();
  steps->send_at = steps->begin + PTBENCH_PACE_NS;
  return steps->socket >= 0;
}

/* Ends the step that is under way and begins the next: 1, or 0 where ptbench wants no more. */
static inline int ptbench_steps_next(ptbench_steps* steps) {
  if (!steps->measured) {
    ++steps->number;
    return 1;
  }
  if (steps->socket < 0) return 0;
  if (steps->number > 0) ptbench_end_step(steps);
  if (steps->socket < 0) return 0;
  if (steps->number >= steps->granted) {
    if (getpid() != steps->process) {
      ptbench_steps_fail(steps,
                         "a forked process cannot go on with the training loop of its parent");
      return 0;
    }
    if (!ptbench_await_grant(steps)) return 0;
  }
  ++steps->number;
  while (steps->windows > 0 && steps->window[0].last < steps->number)
    memmove(steps->window, steps->window + 1, (size_t)--steps->windows * sizeof steps->window[0]);
  steps->wants_phases = steps->windows > 0 && steps->window[0].first <= steps->number;
  steps->own_spans = 0;
  steps->span_begin = 0;
  return 1;
}

/* Why the measurement ended early; NULL where it did not. */
static inline const char* ptbench_steps_error(const ptbench_steps* steps) {
  return steps->error[0] == '\0' ? NULL : steps->error;
}

/* The number of the step that is under way, from 1. */
static inline int64_t ptbench_steps_number(const ptbench_steps* steps) { return steps->number; }

/* Tells what is left (the step under way is not) and frees the loop. */
static inline void ptbench_steps_close(ptbench_steps* steps) {
  if (steps == NULL) return;
  if (getpid() == steps->process) ptbench_tell(steps);
  if (steps->socket >= 0) close(steps->socket);
  free(steps);
}

#ifdef __cplusplus
}
#endif

#endif
