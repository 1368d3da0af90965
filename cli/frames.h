/* cli/frames.h -- the frames of a figure that is built up, as numbered files and as a GIF. */
#ifndef CLI_FRAMES_H
#define CLI_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* FILE-01.svg to FILE-12.svg for FILE.svg; frames: GBytes. */
bool frames_write(const char *path, const GPtrArray *frames, GError **);

/* Whether there is a program that makes GIFs; the error says what to install. */
bool frames_gif_ready(GError **);
/* FILE.gif of pictures, GBytes of PNG: one a second, or quickly one after another, and the last one longer.
 */
bool frames_write_gif(const char *path, const GPtrArray *pictures, bool quick, GError **);

/* "a-01.svg to a-12.svg, a.gif"; g_free. */
char *frames_names(const char *path, uint32_t frames, bool gif);

#endif
