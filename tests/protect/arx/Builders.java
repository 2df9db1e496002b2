package org.deidentifier.arx.aggregates;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.text.DecimalFormat;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.TreeMap;
import org.deidentifier.arx.DataType;

abstract class AggregateFunction implements Serializable {
    private static final long serialVersionUID = 3803318906010996154L;
    protected DataType type;

    public abstract static class AggregateFunctionWithParameter extends AggregateFunction {
        private static final long serialVersionUID = 1L;
    }

    public static class GenericConstant extends AggregateFunctionWithParameter {
        private static final long serialVersionUID = -8995068916108125096L;
        String value;

        GenericConstant(String value) {
            this.value = value;
        }
    }

    public static class GenericInterval extends AggregateFunction {
        private static final long serialVersionUID = -5182521036467379023L;
        boolean lowerIncluded = true;
        boolean upperIncluded = false;
    }

    public static class GenericBounds extends AggregateFunction {
        private static final long serialVersionUID = -8884657842545379206L;
    }

    public static class GenericSet extends AggregateFunction {
        private static final long serialVersionUID = -4029191421720743653L;
    }

    public static class GenericSetOfPrefixes extends AggregateFunctionWithParameter {
        private static final long serialVersionUID = -4164142474804296433L;
        int length = 2;
    }

    public static class GenericCommonPrefix extends AggregateFunctionWithParameter {
        private static final long serialVersionUID = 526809670467390820L;
        Character redaction = '*';
    }

    public static class GenericArithmeticMean extends AggregateFunction {
        private static final long serialVersionUID = 1L;
    }
}

abstract class HierarchyBuilder implements Serializable {
    private static final long serialVersionUID = -4182364711973630816L;

    enum Type {
        INTERVAL_BASED,
        ORDER_BASED,
        REDACTION_BASED,
        DATE_BASED,
        PRIORITY_BASED
    }

    Type type;
}

abstract class HierarchyBuilderGroupingBased extends HierarchyBuilder {
    private static final long serialVersionUID = 3208791665131141362L;
    Map<Integer, Level> groups = new HashMap<>();
    DataType datatype;
    AggregateFunction function;

    abstract static class AbstractGroup implements Serializable {
        private static final long serialVersionUID = -7657969446040078411L;
        String label;
    }

    static class Group implements Serializable {
        private static final long serialVersionUID = -5767501048737045793L;
        int size;
        AggregateFunction function;

        Group(int size, AggregateFunction function) {
            this.size = size;
            this.function = function;
        }
    }

    static class Level implements Serializable {
        private static final long serialVersionUID = 1410005675926162598L;
        int level;
        List<Group> list = new ArrayList<>();
        HierarchyBuilderGroupingBased builder;
    }

    void group(int level, int size, AggregateFunction function) {
        Level found = groups.computeIfAbsent(level, number -> new Level());
        found.level = level;
        found.builder = this;
        found.list.add(new Group(size, function));
    }
}

class HierarchyBuilderIntervalBased extends HierarchyBuilderGroupingBased {
    private static final long serialVersionUID = 3663874945543082808L;
    Range lowerRange = new Range();
    Range upperRange = new Range();
    List<Interval> intervals = new ArrayList<>();

    static class Range implements Serializable {
        private static final long serialVersionUID = -5385139177770612960L;
        Object repeatBound;
        Object snapBound;
        Object labelBound;
    }

    static class Interval extends AbstractGroup {
        private static final long serialVersionUID = 5985820929677249525L;
        AggregateFunction function;
        Object max;
        Object min;
        HierarchyBuilderGroupingBased builder;
        Boolean lower;
    }

    void interval(Object min, Object max, AggregateFunction function) {
        Interval made = new Interval();
        made.min = min;
        made.max = max;
        made.function = function;
        made.builder = this;
        intervals.add(made);
    }
}

class HierarchyBuilderOrderBased extends HierarchyBuilderGroupingBased {
    private static final long serialVersionUID = -2749758635401073668L;
    Comparator<String> comparator;

    abstract static class SerializableComparator implements Comparator<String>, Serializable {
        private static final long serialVersionUID = 3851134667082727602L;
    }

    void ordered(DataType type) {
        comparator =
                new SerializableComparator() {
                    private static final long serialVersionUID = -5728888259809544706L;

                    public int compare(String a, String b) {
                        return type == datatype ? a.compareTo(b) : 0;
                    }
                };
    }

    void ordered(Map<String, Integer> map) {
        comparator =
                new SerializableComparator() {
                    private static final long serialVersionUID = 8016783606581696832L;

                    public int compare(String a, String b) {
                        return map.get(a).compareTo(map.get(b)) + (datatype == null ? 1 : 0);
                    }
                };
    }

    void ordered(Comparator<String> program) {
        comparator =
                new SerializableComparator() {
                    private static final long serialVersionUID = -487411642974218418L;

                    public int compare(String a, String b) {
                        return program.compare(a, b) + (datatype == null ? 1 : 0);
                    }
                };
    }
}

class HierarchyBuilderRedactionBased extends HierarchyBuilder {
    private static final long serialVersionUID = 3625654600380531803L;

    enum Order {
        LEFT_TO_RIGHT,
        RIGHT_TO_LEFT
    }

    Order aligmentOrder = Order.LEFT_TO_RIGHT;
    char paddingCharacter = '*';
    char redactionCharacter = '*';
    Order redactionOrder = Order.RIGHT_TO_LEFT;
    Double maxValueLength;
    Double domainSize;
    Double alphabetSize;
}

class HierarchyBuilderDate extends HierarchyBuilder {
    private static final long serialVersionUID = 6294885577802586286L;

    enum Granularity {
        SECOND_MINUTE_HOUR_DAY_MONTH_YEAR,
        DAY_MONTH_YEAR,
        WEEK_YEAR,
        MONTH_YEAR,
        QUARTER_YEAR,
        YEAR,
        DECADE,
        CENTURY
    }

    static class Format implements Serializable {
        private static final long serialVersionUID = -4412882420968107563L;
        Map<Granularity, String> map = new HashMap<>(Map.of(Granularity.MONTH_YEAR, "MM/yyyy"));
    }

    Granularity[] granularities;
    TimeZone timeZone = TimeZone.getTimeZone("Europe/Berlin");
    Format format = new Format();
    DataType.ARXDate datatype = new DataType.ARXDate();
    Date topCoding;
    Date bottomCoding;
}

class HierarchyBuilderPriorityBased extends HierarchyBuilder {
    private static final long serialVersionUID = 4823242603368546852L;

    enum Priority {
        HIGHEST_TO_LOWEST,
        LOWEST_TO_HIGHEST
    }

    int maxLevels = 10;
    Priority priority = Priority.HIGHEST_TO_LOWEST;
    DataType type;
    Map<String, Integer> priorities;
}

/** Writes a file of each kind into a folder, or says what Java reads from files. */
public class Builders {
    static AggregateFunction named(String word) {
        return new AggregateFunction.GenericConstant(word);
    }

    static void save(String folder, String name, Object value) throws Exception {
        try (ObjectOutputStream out = new ObjectOutputStream(new FileOutputStream(folder + "/" + name + ".ahs"))) {
            out.writeObject(value);
        }
    }

    static HierarchyBuilderOrderBased order(AggregateFunction... functions) {
        HierarchyBuilderOrderBased made = new HierarchyBuilderOrderBased();
        made.type = HierarchyBuilder.Type.ORDER_BASED;
        made.datatype = new DataType.ARXString();
        for (AggregateFunction function : functions) {
            made.group(0, 2, function);
        }
        return made;
    }

    static void write(String folder) throws Exception {
        HierarchyBuilderIntervalBased age = new HierarchyBuilderIntervalBased();
        age.type = HierarchyBuilder.Type.INTERVAL_BASED;
        age.datatype = new DataType.ARXInteger();
        age.interval(0L, 18L, named("child"));
        age.interval(18L, 65L, named("grown"));
        age.interval(65L, 111L, named("old"));
        age.group(0, 1, named("young"));
        age.group(0, 2, named("not young"));
        save(folder, "age", age);

        HierarchyBuilderIntervalBased weight = new HierarchyBuilderIntervalBased();
        weight.type = HierarchyBuilder.Type.INTERVAL_BASED;
        DataType.ARXDecimal decimal = new DataType.ARXDecimal();
        decimal.format = new DecimalFormat("#,##0.00");
        decimal.string = "#,##0.00";
        weight.datatype = decimal;
        weight.interval(0.0, 2.5, new AggregateFunction.GenericInterval());
        weight.group(0, 4, new AggregateFunction.GenericInterval());
        weight.lowerRange.repeatBound = 10.0;
        weight.lowerRange.snapBound = 5.0;
        weight.lowerRange.labelBound = 0.0;
        weight.upperRange.repeatBound = 100.0;
        weight.upperRange.snapBound = 120.0;
        weight.upperRange.labelBound = 200.0;
        save(folder, "weight", weight);

        HierarchyBuilderOrderBased ill = order(named("lungs"), named("stomach \u00e9\u0000\ud83d\ude00"));
        Map<String, Integer> ranks = new HashMap<>();
        for (String word : new String[] {"flu", "asthma", "ulcer", "reflux"}) {
            ranks.put(word, ranks.size());
        }
        ill.ordered(ranks);
        save(folder, "ill", ill);
        HierarchyBuilderOrderBased typed = order(new AggregateFunction.GenericSet());
        typed.ordered(typed.datatype);
        save(folder, "typed", typed);
        HierarchyBuilderOrderBased ordinal = order(new AggregateFunction.GenericBounds());
        DataType.ARXOrderedString words = new DataType.ARXOrderedString();
        words.order = ranks;
        ordinal.datatype = words;
        ordinal.ordered(words);
        save(folder, "ordinal", ordinal);
        save(folder, "given", order(new AggregateFunction.GenericCommonPrefix(), new AggregateFunction.GenericSetOfPrefixes()));
        save(folder, "means", order(new AggregateFunction.GenericArithmeticMean()));
        HierarchyBuilderOrderBased program = order(new AggregateFunction.GenericSet());
        program.ordered((Comparator<String> & Serializable) (a, b) -> 0);
        save(folder, "program", program);

        HierarchyBuilderRedactionBased zip = new HierarchyBuilderRedactionBased();
        zip.type = HierarchyBuilder.Type.REDACTION_BASED;
        save(folder, "zip", zip);
        zip.maxValueLength = 5.0;
        zip.alphabetSize = 10.0;
        zip.domainSize = 1e5;
        save(folder, "zip5", zip);
        zip.redactionOrder = HierarchyBuilderRedactionBased.Order.LEFT_TO_RIGHT;
        zip.aligmentOrder = HierarchyBuilderRedactionBased.Order.RIGHT_TO_LEFT;
        zip.paddingCharacter = ' ';
        save(folder, "ends", zip);

        HierarchyBuilderDate day = new HierarchyBuilderDate();
        day.type = HierarchyBuilder.Type.DATE_BASED;
        day.datatype.format = new SimpleDateFormat("dd.MM.yyyy");
        day.datatype.string = "dd.MM.yyyy";
        day.granularities =
                new HierarchyBuilderDate.Granularity[] {
                    HierarchyBuilderDate.Granularity.MONTH_YEAR, HierarchyBuilderDate.Granularity.YEAR
                };
        save(folder, "day", day);
        day.topCoding = new Date(0);
        save(folder, "coded", day);
        day.granularities[0] = HierarchyBuilderDate.Granularity.WEEK_YEAR;
        save(folder, "weeks", day);

        HierarchyBuilderPriorityBased first = new HierarchyBuilderPriorityBased();
        ((HierarchyBuilder) first).type = HierarchyBuilder.Type.PRIORITY_BASED;
        first.priorities = ranks;
        first.maxLevels = 2;
        save(folder, "first", first);
        save(folder, "other", new ArrayList<>(List.of("a")));
    }

    static void show(String file) throws Exception {
        Object read;
        try (ObjectInputStream in = new ObjectInputStream(new FileInputStream(file))) {
            read = in.readObject();
        }
        System.out.println(read.getClass().getSimpleName() + " " + ((HierarchyBuilder) read).type);
        if (read instanceof HierarchyBuilderIntervalBased found) {
            for (HierarchyBuilderIntervalBased.Interval one : found.intervals) {
                String word = ((AggregateFunction.GenericConstant) one.function).value;
                System.out.println(one.min + " " + one.max + " " + word + " " + (one.builder == found));
            }
        }
        if (read instanceof HierarchyBuilderOrderBased found) {
            Map<String, Integer> sorted = new TreeMap<>(found.comparator);
            for (String word : new String[] {"flu", "asthma", "ulcer"}) {
                sorted.put(word, 0);
            }
            System.out.println(sorted.keySet());
        }
        if (read instanceof HierarchyBuilderGroupingBased found) {
            System.out.println(found.datatype.getClass().getSimpleName());
            for (int level = 0; level < found.groups.size(); level++) {
                for (HierarchyBuilderGroupingBased.Group group : found.groups.get(level).list) {
                    String word = ((AggregateFunction.GenericConstant) group.function).value;
                    System.out.println(level + " " + group.size + " " + word);
                }
            }
        }
        if (read instanceof HierarchyBuilderRedactionBased found) {
            System.out.println(found.aligmentOrder + " " + found.redactionOrder + " " + found.redactionCharacter);
            System.out.println(found.maxValueLength + " " + found.alphabetSize + " " + found.domainSize);
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("write")) {
            write(arguments[1]);
        } else {
            for (String file : arguments) {
                show(file);
            }
        }
    }
}
