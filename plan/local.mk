libparprof_a_SOURCES += %D%/layer.def %D%/op.def %D%/bucket.h %D%/build.h %D%/contract.h %D%/copy.h %D%/cost.h %D%/ddp.h %D%/engine.h \
	%D%/fields.h %D%/gangs.h %D%/lower.h %D%/mode.h %D%/model-layers.h %D%/model.h %D%/pipeline.h %D%/schedule.h %D%/split.h %D%/op.h %D%/plan.h \
	%D%/read-json.h %D%/seal.h %D%/bucket.c %D%/build-cost.c %D%/build-optim.c %D%/build.c %D%/contract-apart.c %D%/contract-model.c %D%/contract.c %D%/copy.c %D%/cost.c \
	%D%/ddp-buckets.c %D%/ddp-first.c %D%/engine.c %D%/fields.c %D%/forward.c %D%/clocks.c %D%/gang-check.c %D%/gangs.c %D%/hazards.c %D%/layer.c \
	%D%/liveness.c %D%/lower-all-to-all.c %D%/lower-ring.c %D%/lower-star.c %D%/lower-tree.c %D%/lower.c \
	%D%/mode-ddp.c %D%/mode-dp.c %D%/mode-pipeline.c %D%/mode-single.c %D%/pipeline-channels.c %D%/pipeline-ops.c %D%/pipeline-rank.c %D%/pipeline-update.c %D%/schedule-1f1b.c %D%/schedule-check.c %D%/schedule-csv.c %D%/schedule-dualpipev.c \
	%D%/schedule-gpipe.c %D%/schedule-zb.c %D%/schedule.c %D%/split.c %D%/mode.c %D%/model-layers.c %D%/model.c %D%/op.c %D%/order.c %D%/place.c \
	%D%/plan.c %D%/read-json.c %D%/read-settle.c %D%/seal.c %D%/write-json.c %D%/write.c
DATA_FILES += %D%/models/bert-base.ini %D%/models/gpt2.ini %D%/models/mini.ini %D%/models/mlp.ini \
	%D%/models/resnet18.ini %D%/models/resnet50.ini %D%/models/transformer-lm.ini
