/* plan/model-layers.h -- the groups of a model's file as layers. */
#ifndef PLAN_MODEL_LAYERS_H
#define PLAN_MODEL_LAYERS_H

#include "base/ini.h"
#include "plan/model.h"

/* What the kind of a file's first group says of the whole. */
enum family { FAMILY_ENCODER, FAMILY_BAG, FAMILY_IMAGE };

/* FAMILY_ENCODER too where the first group says nothing, which model_read_layers then reports. */
enum family model_family(struct ini *);

/* Adds layers and parameters to a model whose dims are complete but, for images, d, which is set here. */
bool model_read_layers(struct model *, struct ini *, enum family, GError **);

#endif
