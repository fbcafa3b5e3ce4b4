"""The codes of reasons why Python runs something: what each means, and what to change so that Go runs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Sentences without their full stops."""

    means: str
    change: str


REASONS = {
    # The loader, and the process it runs in
    "LOOKED_AT": Reason("an object raised an error when goloader inspected it", "see the text"),
    "PLAN": Reason("goloader's core and its planner understand a dataset differently", "report it, please"),
    "DOOR_CLOSED": Reason("`GOLOADER` in the environment turns this door off", "unset `GOLOADER`"),
    "LIBRARY": Reason("goloader's library cannot be loaded here", "do what the text says; Linux with glibc is needed"),
    "FORKED": Reason(
        "the process was forked after goloader was loaded, and Go does not survive a fork",
        "start the process with spawn or forkserver, or fork before the first loader is used",
    ),
    "IN_WORKER": Reason(
        "the loader runs inside a worker process of another loader", "iterate over it in the main process, if you can"
    ),
    "INIT_FN": Reason(
        "`worker_init_fn` changes what workers load, fails, or cannot be tried without fork",
        "only seed and set up in it; build the dataset before the loader",
    ),
    "IN_ORDER": Reason("`in_order=False` with worker processes", "leave it out"),
    "ON_ERROR": Reason(
        "`on_error` is a function, or worker processes record what the dataset does with images",
        '`on_error="skip"` or `"replace"`; `num_workers=0` for recorded images',
    ),
    "LOADER_ITERATOR": Reason("a subclass has its own `_get_iterator`", "remove that method from the subclass"),
    "NO_SLOTS": Reason(
        "batches of worker processes do not come through slots, so they are not recorded",
        "see why in the row `batches` of explain()",
    ),
    "RNG_SAMPLE": Reason(
        '`rng="sample"` with worker processes that run your own code, or code that draws from `random.Random` objects',
        "use `num_workers=0`, or draw from the random module; or leave `rng` out",
    ),
    "TORCH_DEFAULTS": Reason(
        "torch's default dtype or device was changed",
        "set the dtype and device where the model is made, not for all of torch",
    ),
    "TRACE_OFF": Reason("`trace=False`", "leave it out"),
    "BEHAVIOUR_UNKNOWN": Reason(
        "the installed Pillow, torch, torchvision or numpy gives a result that goloader does not know",
        "install versions from the table in the README; report your versions",
    ),
    "FUNCTION_REPLACED": Reason(
        "a function or method of torch or torchvision was replaced, so it may do anything",
        "do the same in a transform or a dataset of your own",
    ),
    # What puts samples together
    "BATCH_SIZE_NONE": Reason(
        "with `batch_size=None`, samples have a type, strides or memory that only Python keeps", "use a batch_size"
    ),
    "COLLATE_FIELDS": Reason(
        "the collate_fn does something else with such samples", "see which fields its documentation asks for"
    ),
    "COLLATE_OWN": Reason(
        "your `collate_fn` does more than goloader compiles, or `default_collate_fn_map` was changed",
        "write it with what docs/arrays.md lists, or use `Pad`, `Jagged` and `Pack` of `goloader.collate`, whose "
        "`others` takes a function; Go still makes the images that the dataset opens",
    ),
    "COLLATE_GOES_ON": Reason(
        "Go makes the batch of `default_collate`, and Python runs the rest of your `collate_fn`, one batch at a time",
        "nothing; slow work may move to where the batch is used",
    ),
    "COLLATE_CALLED": Reason(
        "Go makes the samples, and Python calls your `collate_fn` with them, one batch at a time",
        "nothing; with what docs/arrays.md lists it is compiled",
    ),
    "COLLATE_KEEPS": Reason(
        "your `collate_fn` goes on with `default_collate`'s batch and may keep something from batch to batch, of "
        "which each worker process would have its own copy",
        "draw from torch's, Python's or numpy's global generators; assign no attributes or global variables",
    ),
    "COLLATE_PADDING": Reason(
        "torch cannot pad this dtype with this value, or pads by a rule that Go does not follow",
        "pad with a number of that dtype",
    ),
    "SMALL_BATCHES": Reason(
        "without worker processes, a batch is so small, or an epoch has so few, that Python makes them faster",
        "nothing; Go makes larger ones",
    ),
    "ROWS_DIFFER": Reason("samples differ in length, or are too short", "`collate_fn=goloader.collate.Pad()`"),
    # What is done to an image
    "HOOKS": Reason("a module among the transforms, or all of torch.nn, has hooks", "remove the hooks"),
    "MASK_TRANSFORM": Reason(
        "goloader does not know what this transform, or one of its arguments, does to a mask",
        "use torchvision's v2 with a plain fill and nearest or bilinear filters",
    ),
    "NO_TENSOR": Reason("nothing makes a tensor of the image", "add `ToTensor()`, or `ToImage()` and `ToDtype(...)`"),
    "TENSOR_GEOMETRY": Reason(
        "a border of a uint8 tensor by torchvision's v1, or a resize or colour of a float32 tensor, or anything of "
        "other types: of float32, and by v1, only antialiased bilinear resizes are known, of float32 with at most one "
        "`Normalize` behind it",
        "put it before the step that makes a tensor",
    ),
    "TENSOR_STEPS": Reason(
        "a step after the one that makes a tensor is not a function of single bytes, raises, or makes no tensor",
        "move the step into the training loop, or before the step that makes a tensor",
    ),
    "TRANSFORM_ARGUMENT": Reason("a transform has an argument that Go does not know", "see the text for which"),
    "TRANSFORM_JOINT": Reason(
        "the transform takes image and label together", "use a transform for the image, or torchvision's v2"
    ),
    "TRANSFORM_LIMIT": Reason("more steps than Go can run on an image", "leave some out"),
    "TRANSFORM_LIST": Reason(
        "the container has no list of transforms, or an empty one", "give it a list of transforms"
    ),
    "TRANSFORM_ORDER": Reason(
        "Go does not know the transform at this position: before the step that makes a tensor, or before all images "
        "have one mode",
        "change the order; `Grayscale` or `v2.RGB` in front gives all images one mode",
    ),
    "TRANSFORM_UNKNOWN": Reason(
        "goloader does not compile this transform; if its code can be recorded, Go still makes the pixels",
        "use a transform that docs/transforms.md lists",
    ),
    # Where samples come from
    "ARRAY_LAYOUT": Reason(
        "Go does not read arrays of this dtype, byte order, layout or number of dimensions", "save it as a plain `.npy`"
    ),
    "CLASS_LEFT": Reason("a class of torchvision whose samples only Python can make", "nothing: it stays in Python"),
    "CLASS_OVERRIDES": Reason(
        "a subclass changes how samples or attributes are read, or has `__getitems__`",
        "remove that method; change samples in a transform, or in a dataset around this one",
    ),
    "CODE_UNREAD": Reason(
        "your class does more than compute with rows and windows of arrays, or open an image and transform it",
        "write `__getitem__` with fewer kinds of operations; Go still makes the images where they can be recorded",
    ),
    "DATASET_OPTIONS": Reason(
        "with these options, the library's dataset makes its samples in another way", "see the text for which"
    ),
    "DATASET_STATE": Reason(
        "the dataset has a `state_dict()`, so samples may change its state", "remove it if samples do not depend on it"
    ),
    "FIELDS": Reason("samples have too many fields, or images beside rows of arrays", "split them into two datasets"),
    "FILE_LIST": Reason(
        "the list of files is not a list of (path, label) tuples, or contains a path that is not valid",
        "use `str` paths and `int` labels in a list",
    ),
    "FOREIGN_FILES": Reason(
        "only Pillow reads many of the files, and torch's workers do so in parallel", "convert them to PNG or JPEG"
    ),
    "IMAGE_LOADER": Reason(
        "the dataset has its own `loader`, or torchvision uses another image backend",
        "use torchvision's default loader and `set_image_backend('PIL')`",
    ),
    "INDICES": Reason(
        "indices are not plain ints, are negative, or are in memory that processes share",
        "use a list of ints, or an int64 array",
    ),
    "ITERABLE": Reason("an IterableDataset runs its own code", "nothing: the images that it opens are recorded"),
    "STREAM_STAGE": Reason(
        "only Python can run a stage of this pipeline",
        "see the text; use to_tuple or to_dict after decode, and torchvision's transforms in map_tuple or map_dict",
    ),
    "STREAM_COLUMN": Reason(
        "Go reads texts, JSON and bytes of a stream, and Python makes objects of them",
        "nothing: numbers and images come as tensors",
    ),
    "KEPT_LATER": Reason(
        "samples are the same each time, and take long: workers make them in the first epoch, Go those of later ones",
        "nothing",
    ),
    "LABELS": Reason(
        "labels are not ints, or there are not as many as images", "use a list of ints, or an int64 array"
    ),
    "LENGTH_CHANGED": Reason("a dataset inside another one changed its length", "make the outer dataset again"),
    "MASKS": Reason("masks have several modes, or one that Go does not read", "save them as 8-bit PNG, all P or all L"),
    "NO_IMAGES": Reason("the program imported nothing that opens images, so there is nothing to record", "nothing"),
    "PARTS_DIFFER": Reason("joined datasets differ in fields, dtypes or shapes", "make them alike"),
    "PILLOW_PLUGIN": Reason("another package opens such files instead of Pillow", "do not use its plugin"),
    "PIXELS": Reason("images in memory are not uint8, not of one size, or not in the class's layout", "store them so"),
    "IN_LISTS": Reason(
        "samples are lists already, and without workers torch makes batches of them as fast",
        "keep tensors instead of lists of tensors, or use `num_workers` above 0",
    ),
    "SMALL_EPOCHS": Reason(
        "without workers, an epoch takes torch less time than Go takes to begin",
        "nothing; once an epoch takes 50 ms, or all have taken half a second, Go takes over",
    ),
    "NO_GAIN": Reason(
        "the dataset's code opens no images, or looks at so many pixels that recording saves no time",
        "see the lines that explain() names: Go does what happens to an image before code looks at it",
    ),
    "OUTSIDE_EFFECTS": Reason(
        "the dataset's code changes files, connects, or starts programs, which a check of it must not do",
        "do that outside of the dataset, before or after loading",
    ),
    "RECORDING_ENDED": Reason(
        "samples of the dataset could not be checked, or its code failed with a stand-in", "see the text"
    ),
    "SAMPLES_DIFFER": Reason(
        "a check found that Go's samples differ from the dataset's, so Python makes them",
        "please report it with the versions that the warning names",
    ),
    "SAMPLES_KEPT": Reason(
        "the dataset keeps the images that it opens, for example in a cache, so they must be made at once",
        "rely on the system's page cache, or keep encoded bytes",
    ),
    "TARGET_TRANSFORM": Reason("the dataset has a target_transform", "change the labels once, in the dataset's list"),
    "TENSOR_LAYOUT": Reason(
        "a tensor is not plain CPU memory (device, layout, gradient), or tensors differ in length",
        "keep `x.detach().cpu().contiguous()`, all of one length",
    ),
    "WRAPPED": Reason(
        "the dataset is not wrapped as `wrap_dataset_for_transforms_v2` does for one mask",
        "wrap the plain dataset, with its default target_keys",
    ),
}
